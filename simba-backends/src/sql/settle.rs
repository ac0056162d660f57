//! Names that nobody holds, and that could not be had all the same.
//!
//! Who finds a row locked does not wait for it. Most of these locks are gone within a few milliseconds: another
//! candidate's, a purge's, or one that the server lets go of only after it has shown what was written under it.

use std::{future::Future, time::Duration};

use crate::{Acquired, Acquisition, BackendError, LeaseName};

/// How long to wait before each further attempt at such names within one call.
const PAUSES: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(5), Duration::from_millis(20)];

/// What was seen of a name after an attempt to take it.
pub(crate) enum Seen {
    Answer(Acquisition),
    /// Nobody holds it, and yet it was not taken: its row is locked, or somebody held it in between.
    Free,
}

/// The answer for a name that stays so: to be looked at again soon. Who asks waits longer each time.
const IN_PASSING: Acquisition = Acquisition::Held { free_in: Some(Duration::from_millis(10)) };

/// Attempts names, and those that nobody holds a few times more. An attempt tells `None` where the session has
/// expired.
pub(crate) async fn settle<A>(
    names: &[LeaseName],
    attempt: impl Fn(Vec<LeaseName>) -> A,
) -> Result<Acquired, BackendError>
where
    A: Future<Output = Result<Option<Vec<(LeaseName, Seen)>>, BackendError>>,
{
    let Some(seen) = attempt(names.to_vec()).await? else { return Ok(Acquired::Expired) };
    let mut answers = Vec::with_capacity(names.len());
    let mut left = sort(seen, &mut answers);
    for pause in PAUSES {
        if left.is_empty() {
            break;
        }
        tokio::time::sleep(pause).await;
        match attempt(left.clone()).await {
            Ok(Some(seen)) => left = sort(seen, &mut answers),
            Ok(None) => return Ok(Acquired::Expired),
            Err(error) => {
                let failed = |name| (name, Acquisition::Failed(error.clone()));
                answers.extend(std::mem::take(&mut left).into_iter().map(failed));
            }
        }
    }
    answers.extend(left.into_iter().map(|name| (name, IN_PASSING)));
    Ok(Acquired::Answers(answers))
}

/// Puts the answers aside, and gives the names that are left.
fn sort(seen: Vec<(LeaseName, Seen)>, answers: &mut Vec<(LeaseName, Acquisition)>) -> Vec<LeaseName> {
    let mut left = Vec::new();
    for (name, seen) in seen {
        match seen {
            Seen::Answer(answer) => answers.push((name, answer)),
            Seen::Free => left.push(name),
        }
    }
    left
}
