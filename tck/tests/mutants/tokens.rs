//! Lies about tokens: each lets them start anew at one occasion.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
    time::Duration,
};

use simba_backends::{
    Acquired, Acquisition, BackendError, Capabilities, KeepAlive, LeaseBackend, LeaseName, Release,
    SessionId, Token,
};
use simba_tck::async_trait;

use crate::{honest::Honest, lie::Lie, lies};

lies! {
    tokens_reset_on_release: ResetOnRelease => lease::l2_tokens_rise_over_every_end_of_a_term;
    tokens_reset_on_close: ResetOnClose => lease::l2_tokens_rise_over_every_end_of_a_term;
    tokens_reset_on_expiry: ResetOnExpiry => lease::l2_tokens_rise_over_every_end_of_a_term;
    a_purge_deletes_the_lease_row: ResetOnPurge => purge::s6_a_purge_removes_the_dead_and_never_a_token;
    durable_tokens_are_declared_and_cannot_be_shown: ClaimsDurability => lease::l2_tokens_rise_over_every_end_of_a_term;
}

fn first() -> Token {
    Token::new(1).unwrap()
}

/// Names whose next term has the first token again, and the true tokens of those that had it.
#[derive(Debug, Default)]
struct Resets {
    due: Mutex<BTreeSet<LeaseName>>,
    known: Mutex<BTreeMap<SessionId, BTreeSet<LeaseName>>>,
    truth: Mutex<BTreeMap<LeaseName, Token>>,
}

impl Resets {
    fn reset(&self, names: impl IntoIterator<Item = LeaseName>) {
        self.due.lock().unwrap().extend(names);
    }

    fn reset_all_of(&self, id: &SessionId) {
        let names = self.known.lock().unwrap().remove(id);
        self.reset(names.unwrap_or_default());
    }

    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let mut acquired = honest.acquire(id, names).await?;
        if let Acquired::Answers(answers) = &mut acquired {
            for (name, answer) in answers {
                self.known.lock().unwrap().entry(id.clone()).or_default().insert(name.clone());
                if let Acquisition::Granted { token, .. } = answer {
                    self.truth.lock().unwrap().insert(name.clone(), *token);
                    if self.due.lock().unwrap().remove(name) {
                        *token = first();
                    }
                }
            }
        }
        Ok(acquired)
    }

    async fn release(
        &self,
        honest: &Honest,
        id: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        let truth = self.truth.lock().unwrap().clone();
        let leases: Vec<_> =
            leases.iter().map(|(name, token)| (name.clone(), *truth.get(name).unwrap_or(token))).collect();
        honest.release(id, &leases).await
    }
}

#[derive(Debug, Default)]
struct ResetOnRelease(Resets);
#[async_trait]
impl Lie for ResetOnRelease {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        self.0.acquire(honest, id, names).await
    }

    async fn release(
        &self,
        honest: &Honest,
        id: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        self.0.reset(leases.iter().map(|(name, _)| name.clone()));
        self.0.release(honest, id, leases).await
    }
}

#[derive(Debug, Default)]
struct ResetOnClose(Resets);
#[async_trait]
impl Lie for ResetOnClose {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        self.0.acquire(honest, id, names).await
    }

    async fn close_session(&self, honest: &Honest, id: &SessionId) -> Result<(), BackendError> {
        self.0.reset_all_of(id);
        honest.close_session(id).await
    }
}

/// A name whose holder is gone without a word starts anew.
#[derive(Debug, Default)]
struct ResetOnExpiry(Resets);
#[async_trait]
impl Lie for ResetOnExpiry {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        for name in names {
            let was_held = self.0.known.lock().unwrap().values().any(|held| held.contains(name));
            if was_held && honest.inspect(name).await?.is_none() {
                self.0.reset([name.clone()]);
            }
        }
        self.0.acquire(honest, id, names).await
    }

    async fn release(
        &self,
        honest: &Honest,
        id: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        self.0.known.lock().unwrap().remove(id);
        self.0.release(honest, id, leases).await
    }

    async fn close_session(&self, honest: &Honest, id: &SessionId) -> Result<(), BackendError> {
        self.0.known.lock().unwrap().remove(id);
        honest.close_session(id).await
    }
}

#[derive(Debug, Default)]
struct ResetOnPurge(Resets);
#[async_trait]
impl Lie for ResetOnPurge {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        self.0.acquire(honest, id, names).await
    }

    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let answer = honest.keep_alive(id, lease).await?;
        if answer == KeepAlive::Expired {
            self.0.reset_all_of(id);
        }
        Ok(answer)
    }
}

#[derive(Debug, Default)]
struct ClaimsDurability;
impl Lie for ClaimsDurability {
    fn capabilities(&self, honest: &Honest) -> Capabilities {
        let mut capabilities = honest.capabilities();
        capabilities.durable_tokens = true;
        capabilities
    }
}
