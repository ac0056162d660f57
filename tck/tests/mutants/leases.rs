//! Lies about single leases.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use simba_backends::{
    Acquired, Acquisition, BackendError, ErrorKind, KeepAlive, LeaseBackend, LeaseName, Outcome, Release,
    SessionId, Token,
};
use simba_tck::async_trait;

use crate::{honest::Honest, lie::Lie, lies};

lies! {
    free_in_is_beyond_the_lease: FreeTooLate => lease::l4_a_held_name_says_so_and_for_how_long;
    free_in_stands_still: FreeInStandsStill => lease::l4_a_held_name_says_so_and_for_how_long;
    held_is_a_failure: HeldIsAFailure => lease::l4_a_held_name_says_so_and_for_how_long;
    a_repeat_is_granted: GrantsARepeat => lease::l5_the_holders_repeat_is_already_owned_with_the_same_token;
    a_repeat_is_held: RefusesARepeat => lease::l5_the_holders_repeat_is_already_owned_with_the_same_token;
    a_repeat_makes_a_new_token: RenewsTheToken => lease::l5_the_holders_repeat_is_already_owned_with_the_same_token;
    a_release_ignores_the_token: IgnoresTheToken => lease::l6_a_release_frees_and_nothing_else_does;
    a_release_ignores_the_session: IgnoresTheSession => lease::l6_a_release_frees_and_nothing_else_does;
    a_second_release_fails: ReleasesOnce => lease::l6_a_release_frees_and_nothing_else_does;
    a_release_frees_nothing: ReleasesNothing => lease::l6_a_release_frees_and_nothing_else_does;
    the_dead_keep_their_leases: TheDeadHold => lease::l7_leases_of_an_expired_session_can_be_taken;
}

fn each(acquired: &mut Acquired, mut change: impl FnMut(&LeaseName, &mut Acquisition)) {
    if let Acquired::Answers(answers) = acquired {
        answers.iter_mut().for_each(|(name, answer)| change(name, answer));
    }
}

/// A lie that only changes what an acquire answers.
macro_rules! acquire_lie {
    ($lie:ident, |$name:ident, $answer:ident| $change:expr) => {
        #[derive(Debug, Default)]
        struct $lie;
        #[async_trait]
        impl Lie for $lie {
            async fn acquire(
                &self,
                honest: &Honest,
                id: &SessionId,
                names: &[LeaseName],
            ) -> Result<Acquired, BackendError> {
                let mut acquired = honest.acquire(id, names).await?;
                each(&mut acquired, |$name, $answer| $change);
                Ok(acquired)
            }
        }
    };
}

acquire_lie!(FreeTooLate, |_name, answer| {
    if let Acquisition::Held { free_in: Some(free_in) } = answer {
        *free_in += Duration::from_secs(1);
    }
});

acquire_lie!(FreeInStandsStill, |_name, answer| {
    if let Acquisition::Held { free_in: Some(free_in) } = answer {
        *free_in = Duration::from_secs(9);
    }
});

acquire_lie!(HeldIsAFailure, |name, answer| {
    if let Acquisition::Held { .. } = answer {
        let message = format!("{name} is locked");
        *answer =
            Acquisition::Failed(BackendError::new(ErrorKind::Unavailable, Outcome::NotApplied, message));
    }
});

acquire_lie!(GrantsARepeat, |_name, answer| {
    if let Acquisition::AlreadyOwned { token, remaining } = answer {
        *answer = Acquisition::Granted { token: *token, remaining: *remaining };
    }
});

acquire_lie!(RefusesARepeat, |_name, answer| {
    if let Acquisition::AlreadyOwned { .. } = answer {
        *answer = Acquisition::Held { free_in: None };
    }
});

acquire_lie!(RenewsTheToken, |_name, answer| {
    if let Acquisition::AlreadyOwned { token, .. } = answer {
        *token = Token::new(token.get() + 1).unwrap();
    }
});

type Released = Result<Vec<(LeaseName, Release)>, BackendError>;

#[derive(Debug, Default)]
struct IgnoresTheToken;
#[async_trait]
impl Lie for IgnoresTheToken {
    async fn release(&self, honest: &Honest, id: &SessionId, leases: &[(LeaseName, Token)]) -> Released {
        let mut current = leases.to_vec();
        for (name, token) in &mut current {
            if let Some(holder) = honest.inspect(name).await? {
                *token = holder.token;
            }
        }
        honest.release(id, &current).await
    }
}

#[derive(Debug, Default)]
struct IgnoresTheSession;
#[async_trait]
impl Lie for IgnoresTheSession {
    async fn release(&self, honest: &Honest, _: &SessionId, leases: &[(LeaseName, Token)]) -> Released {
        for (name, token) in leases {
            if let Some(holder) = honest.inspect(name).await? {
                honest.release(&holder.session, &[(name.clone(), *token)]).await?;
            }
        }
        Ok(leases.iter().map(|(name, _)| (name.clone(), Release::Gone)).collect())
    }
}

#[derive(Debug, Default)]
struct ReleasesOnce;
#[async_trait]
impl Lie for ReleasesOnce {
    async fn release(&self, honest: &Honest, id: &SessionId, leases: &[(LeaseName, Token)]) -> Released {
        for (name, _) in leases {
            if honest.inspect(name).await?.is_none() {
                return Err(BackendError::new(ErrorKind::Unexpected, Outcome::NotApplied, "it is not held"));
            }
        }
        honest.release(id, leases).await
    }
}

#[derive(Debug, Default)]
struct ReleasesNothing;
#[async_trait]
impl Lie for ReleasesNothing {
    async fn release(&self, _: &Honest, _: &SessionId, leases: &[(LeaseName, Token)]) -> Released {
        Ok(leases.iter().map(|(name, _)| (name.clone(), Release::Gone)).collect())
    }
}

/// Who was granted a name holds it until it says otherwise.
#[derive(Debug, Default)]
struct TheDeadHold(Mutex<BTreeMap<LeaseName, SessionId>>);
#[async_trait]
impl Lie for TheDeadHold {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let mut acquired = honest.acquire(id, names).await?;
        let mut holders = self.0.lock().unwrap();
        each(&mut acquired, |name, answer| {
            if holders.entry(name.clone()).or_insert_with(|| id.clone()) != id {
                *answer = Acquisition::Held { free_in: None };
            }
        });
        drop(holders);
        Ok(acquired)
    }

    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        honest.keep_alive(id, lease).await
    }
}
