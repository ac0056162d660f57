//! Calls about more leases than travel in one message.

#[cfg(any(feature = "sqlite", feature = "mysql"))]
use std::collections::BTreeSet;
use std::future::Future;

#[cfg(any(feature = "sqlite", feature = "mysql"))]
use crate::{Acquired, Acquisition};
use crate::{BackendError, LeaseName, Release, Token};

/// How many names travel in one message, so that none holds locks for long.
pub(crate) const CHUNK: usize = 1000;

/// Acquires names chunk by chunk, sorted, so that two who insert the same ones make no deadlock. Where the
/// first chunk fails the call has failed; where a later one does, it and the rest have.
#[cfg(any(feature = "sqlite", feature = "mysql"))]
pub(crate) async fn acquire_in_chunks<A>(
    names: &[LeaseName],
    acquire: impl Fn(Vec<LeaseName>) -> A,
) -> Result<Acquired, BackendError>
where
    A: Future<Output = Result<Acquired, BackendError>>,
{
    let names: Vec<LeaseName> = names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let mut answers = Vec::with_capacity(names.len());
    for (nth, chunk) in names.chunks(CHUNK).enumerate() {
        match acquire(chunk.to_vec()).await {
            Ok(Acquired::Answers(more)) => answers.extend(more),
            Ok(Acquired::Expired) => return Ok(Acquired::Expired),
            Err(error) if nth == 0 => return Err(error),
            Err(error) => {
                let rest = &names[nth * CHUNK..];
                answers.extend(rest.iter().map(|name| (name.clone(), Acquisition::Failed(error.clone()))));
                break;
            }
        }
    }
    Ok(Acquired::Answers(answers))
}

/// Releases leases chunk by chunk. Where the first chunk fails the call has failed; where a later one does, its
/// leases have.
pub(crate) async fn release_in_chunks<A>(
    leases: &[(LeaseName, Token)],
    release: impl Fn(Vec<(LeaseName, Token)>) -> A,
) -> Result<Vec<(LeaseName, Release)>, BackendError>
where
    A: Future<Output = Result<Vec<(LeaseName, Release)>, BackendError>>,
{
    let mut leases = leases.to_vec();
    leases.sort();
    let mut answers: Vec<(LeaseName, Release)> = Vec::with_capacity(leases.len());
    for chunk in leases.chunks(CHUNK) {
        match release(chunk.to_vec()).await {
            Ok(more) => answers.extend(more),
            Err(error) if answers.is_empty() => return Err(error),
            Err(error) => {
                let failed = |(name, _): &(LeaseName, Token)| (name.clone(), Release::Failed(error.clone()));
                answers.extend(chunk.iter().map(failed));
            }
        }
    }
    Ok(answers)
}
