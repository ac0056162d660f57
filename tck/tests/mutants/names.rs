//! Lies about names: which are one, and what happens to several.

use std::time::Duration;

use simba_backends::{
    Acquired, Acquisition, BackendError, ErrorKind, LeaseBackend, LeaseName, Outcome, SessionId,
};
use simba_tck::async_trait;

use crate::{honest::Honest, lie::Lie, lies};

lies! {
    the_longest_name_is_refused: RefusesTheLongest => lease::l1_a_free_name_is_granted_with_a_token;
    names_are_case_folded: FoldsCase => lease::l8_names_are_distinct_to_the_last_character;
    names_are_cut: CutsNames => lease::l8_names_are_distinct_to_the_last_character;
    punctuation_is_one: ColonIsDot => lease::l8_names_are_distinct_to_the_last_character;
    a_trailing_dot_is_lost: LosesTheDot => lease::l8_names_are_distinct_to_the_last_character;
    a_batch_fails_as_a_whole: AllOrNothing => lease::l9_a_batch_answers_for_each_name;
    a_batch_leaves_names_out: AnswersTheGranted => lease::l9_a_batch_answers_for_each_name;
    a_batch_is_cut: CutsTheBatch => lease::l9_a_batch_answers_for_each_name;
    a_locked_name_is_waited_for: WaitsForALock => lease::l9_a_batch_answers_for_each_name;
    a_clients_clock_is_used: UsesItsOwnClock => lease::l10_no_clients_wall_clock_matters;
}

#[derive(Debug, Default)]
struct RefusesTheLongest;
#[async_trait]
impl Lie for RefusesTheLongest {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        match names.iter().find(|name| name.as_str().len() > 127) {
            Some(name) => Err(BackendError::config(format!("{name} is too long"))),
            None => honest.acquire(id, names).await,
        }
    }
}

/// Asks for other names, and answers as if they were those asked for.
async fn acquire_as(
    honest: &Honest,
    id: &SessionId,
    names: &[LeaseName],
    stored: impl Fn(&str) -> String,
) -> Result<Acquired, BackendError> {
    let mut all = Vec::new();
    for name in names {
        match honest.acquire(id, &[stored(name.as_str()).parse().unwrap()]).await? {
            Acquired::Answers(answers) => {
                all.extend(answers.into_iter().map(|(_, answer)| (name.clone(), answer)))
            }
            Acquired::Expired => return Ok(Acquired::Expired),
        }
    }
    Ok(Acquired::Answers(all))
}

#[derive(Debug, Default)]
struct FoldsCase;
#[async_trait]
impl Lie for FoldsCase {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        acquire_as(honest, id, names, str::to_ascii_lowercase).await
    }
}

#[derive(Debug, Default)]
struct CutsNames;
#[async_trait]
impl Lie for CutsNames {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        acquire_as(honest, id, names, |name| name.chars().take(127).collect()).await
    }
}

#[derive(Debug, Default)]
struct ColonIsDot;
#[async_trait]
impl Lie for ColonIsDot {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        acquire_as(honest, id, names, |name| name.replace(':', ".")).await
    }
}

#[derive(Debug, Default)]
struct LosesTheDot;
#[async_trait]
impl Lie for LosesTheDot {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let stored = |name: &str| match name.strip_suffix('.') {
            Some(rest) if rest.len() > 1 => rest.to_owned(),
            _ => name.to_owned(),
        };
        acquire_as(honest, id, names, stored).await
    }
}

#[derive(Debug, Default)]
struct AllOrNothing;
#[async_trait]
impl Lie for AllOrNothing {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let mut acquired = honest.acquire(id, names).await?;
        if let Acquired::Answers(answers) = &mut acquired
            && answers.iter().any(|(_, answer)| matches!(answer, Acquisition::Failed(_)))
        {
            return Err(BackendError::new(ErrorKind::Corrupt, Outcome::Unknown, "a record is corrupt"));
        }
        Ok(acquired)
    }
}

#[derive(Debug, Default)]
struct AnswersTheGranted;
#[async_trait]
impl Lie for AnswersTheGranted {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let mut acquired = honest.acquire(id, names).await?;
        if let Acquired::Answers(answers) = &mut acquired {
            answers.retain(|(_, answer)| !matches!(answer, Acquisition::Held { .. }));
        }
        Ok(acquired)
    }
}

#[derive(Debug, Default)]
struct CutsTheBatch;
#[async_trait]
impl Lie for CutsTheBatch {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        honest.acquire(id, &names[..names.len().min(1000)]).await
    }
}

#[derive(Debug, Default)]
struct WaitsForALock;
#[async_trait]
impl Lie for WaitsForALock {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        for name in names {
            honest.wait_for(name.as_str()).await;
        }
        honest.acquire(id, names).await
    }
}

#[derive(Debug, Default)]
struct UsesItsOwnClock;
#[async_trait]
impl Lie for UsesItsOwnClock {
    async fn open_session(
        &self,
        honest: &Honest,
        lease: Duration,
        metadata: &simba_backends::Metadata,
    ) -> Result<simba_backends::Opened, BackendError> {
        let ahead = Duration::from_secs(if honest.is_skewed { 3600 } else { 0 });
        honest.open_session(lease + ahead, metadata).await
    }
}
