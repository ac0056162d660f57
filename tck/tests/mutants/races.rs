//! Lies that only calls under way at the same time bring to light.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::Duration,
};

use simba_backends::{
    Acquired, Acquisition, BackendError, KeepAlive, LeaseBackend, LeaseName, SessionId, Token,
};
use simba_tck::async_trait;

use crate::{honest::Honest, lie::Lie, lies};

lies! {
    two_racers_are_granted: ReadsThenWrites => race::l3_of_racing_sessions_one_is_granted;
    no_racer_is_granted: NobodyWins => race::l3_of_racing_sessions_one_is_granted;
    a_grant_that_nobody_heard_of_is_not_listed: ListsTheHeard => race::l11_a_grant_that_was_never_heard_of_is_listed;
    a_dropped_call_breaks_the_client: BreaksWhenDropped => race::l11_a_grant_that_was_never_heard_of_is_listed;
    a_keep_alive_does_not_see_the_take_over: DoesNotLook => race::l12_a_keep_alive_racing_a_take_over_wins_or_sees_the_lease_gone;
    a_take_over_trusts_its_first_look: TrustsItsFirstLook => race::l13_a_holder_that_opened_after_a_take_over_began_is_respected;
    a_stopped_client_holds_a_lock: StopsWithALock => race::l14_a_client_stopped_inside_an_acquire_holds_up_no_keep_alive;
}

fn grants(acquired: &mut Acquired, free: &[LeaseName]) {
    if let Acquired::Answers(answers) = acquired {
        for (name, answer) in answers {
            if matches!(answer, Acquisition::Held { .. }) && free.contains(name) {
                let token = Token::new(1_000_000).unwrap();
                *answer = Acquisition::Granted { token, remaining: Duration::from_secs(1) };
            }
        }
    }
}

async fn looks_free(honest: &Honest, names: &[LeaseName]) -> Result<Vec<LeaseName>, BackendError> {
    let mut free = Vec::new();
    for name in names {
        if honest.inspect(name).await?.is_none() {
            free.push(name.clone());
        }
    }
    Ok(free)
}

#[derive(Debug, Default)]
struct ReadsThenWrites;
#[async_trait]
impl Lie for ReadsThenWrites {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let free = looks_free(honest, names).await?;
        let mut acquired = honest.acquire(id, names).await?;
        grants(&mut acquired, &free);
        Ok(acquired)
    }
}

/// Gives up what it got when others want it too.
#[derive(Debug, Default)]
struct NobodyWins(Mutex<UnderWay>);
#[derive(Debug, Default)]
struct UnderWay {
    now: u32,
    most: u32,
}
impl UnderWay {
    fn begin(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }
    /// Tells how many were under way at once.
    fn end(&mut self) -> u32 {
        self.now -= 1;
        if self.now == 0 { std::mem::take(&mut self.most) } else { self.most }
    }
}
#[async_trait]
impl Lie for NobodyWins {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        self.0.lock().unwrap().begin();
        let acquired = honest.acquire(id, names).await?;
        if self.0.lock().unwrap().end() > 1 {
            let held = |name: &LeaseName| (name.clone(), Acquisition::Held { free_in: None });
            return Ok(Acquired::Answers(names.iter().map(held).collect()));
        }
        Ok(acquired)
    }
}

/// Lists from what the client heard.
#[derive(Debug, Default)]
struct ListsTheHeard(Mutex<BTreeSet<(SessionId, LeaseName)>>);
#[async_trait]
impl Lie for ListsTheHeard {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let acquired = honest.acquire(id, names).await?;
        self.0.lock().unwrap().extend(names.iter().map(|name| (id.clone(), name.clone())));
        Ok(acquired)
    }

    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let mut answer = honest.keep_alive(id, lease).await?;
        if let KeepAlive::Live { owned, .. } = &mut answer {
            let heard = self.0.lock().unwrap();
            owned.retain(|(name, _)| heard.contains(&(id.clone(), name.clone())));
        }
        Ok(answer)
    }
}

/// A connection that is in the middle of an exchange is used again.
#[derive(Debug, Default)]
struct BreaksWhenDropped(tokio::sync::Mutex<()>, Mutex<bool>);
#[async_trait]
impl Lie for BreaksWhenDropped {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let _turn = self.0.lock().await;
        let is_broken = std::mem::replace(&mut *self.1.lock().unwrap(), true);
        if is_broken {
            return Err(BackendError::config("protocol error: this is the answer to another question"));
        }
        let acquired = honest.acquire(id, names).await?;
        *self.1.lock().unwrap() = false;
        Ok(acquired)
    }
}

/// Renews by a statement and lists from another that does not ask whether the session still lives.
#[derive(Debug, Default)]
struct DoesNotLook(Mutex<BTreeMap<SessionId, LeaseName>>);
#[async_trait]
impl Lie for DoesNotLook {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        if let [name] = names {
            self.0.lock().unwrap().insert(id.clone(), name.clone());
        }
        honest.acquire(id, names).await
    }

    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let answer = honest.keep_alive(id, lease).await?;
        let name = self.0.lock().unwrap().get(id).cloned();
        match (answer, name) {
            (KeepAlive::Expired, Some(name)) => Ok(KeepAlive::Live {
                remaining: lease,
                owned: vec![(name, Token::new(1).unwrap())],
                unknown: vec![],
                groups: vec![],
                server_elapsed: None,
            }),
            (answer, _) => Ok(answer),
        }
    }
}

/// Takes over whatever looked dead when the call began.
#[derive(Debug, Default)]
struct TrustsItsFirstLook;
#[async_trait]
impl Lie for TrustsItsFirstLook {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let free = looks_free(honest, names).await?;
        for name in names {
            honest.wait_for(name.as_str()).await;
        }
        let mut acquired = honest.acquire(id, names).await?;
        grants(&mut acquired, &free);
        Ok(acquired)
    }
}

#[derive(Debug, Default)]
struct StopsWithALock;
#[async_trait]
impl Lie for StopsWithALock {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        while honest.rival_is_stopped() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        honest.keep_alive(id, lease).await
    }
}
