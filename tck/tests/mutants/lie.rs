//! A lie: a backend that answers as the honest one does, but for one call.

use std::{fmt::Debug, time::Duration};

use simba_backends::{
    Acquired, BackendError, Capabilities, ErrorKind, GroupName, HintSource, Holder, Joined, KeepAlive,
    LeaseBackend, LeaseName, Member, Metadata, Opened, Outcome, Release, SessionId, Token,
};
use simba_tck::{Misuse, async_trait};

use crate::honest::Honest;

type Answer<T> = Result<T, BackendError>;

/// What is told instead of the truth. What a lie does not override is told honestly.
#[async_trait]
pub(crate) trait Lie: Debug + Default + Send + Sync + 'static {
    fn capabilities(&self, honest: &Honest) -> Capabilities {
        honest.capabilities()
    }

    async fn open_session(&self, honest: &Honest, lease: Duration, metadata: &Metadata) -> Answer<Opened> {
        honest.open_session(lease, metadata).await
    }

    async fn keep_alive(&self, honest: &Honest, id: &SessionId, lease: Duration) -> Answer<KeepAlive> {
        honest.keep_alive(id, lease).await
    }

    async fn close_session(&self, honest: &Honest, id: &SessionId) -> Answer<()> {
        honest.close_session(id).await
    }

    async fn acquire(&self, honest: &Honest, id: &SessionId, names: &[LeaseName]) -> Answer<Acquired> {
        honest.acquire(id, names).await
    }

    async fn release(
        &self,
        honest: &Honest,
        id: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Answer<Vec<(LeaseName, Release)>> {
        honest.release(id, leases).await
    }

    async fn join(&self, honest: &Honest, id: &SessionId, group: &GroupName) -> Answer<Joined> {
        honest.join(id, group).await
    }

    async fn leave(&self, honest: &Honest, id: &SessionId, group: &GroupName) -> Answer<()> {
        honest.leave(id, group).await
    }

    async fn members(&self, honest: &Honest, group: &GroupName) -> Answer<Vec<Member>> {
        honest.members(group).await
    }

    async fn inspect(&self, honest: &Honest, name: &LeaseName) -> Answer<Option<Holder>> {
        honest.inspect(name).await
    }

    fn hints(&self, honest: &Honest) -> Option<Box<dyn HintSource>> {
        honest.hints()
    }

    fn misuse(&self) -> Misuse {
        let message = "the password of user simba is wrong: correct the URL";
        Misuse {
            situation: "wrong password",
            error: BackendError::new(ErrorKind::Unauthorized, Outcome::NotApplied, message),
            kind: ErrorKind::Unauthorized,
            remedy: "correct the URL",
            secret: Some("hunter2".to_owned()),
        }
    }
}

/// The backend that tells it.
#[derive(Debug)]
pub(crate) struct Liar<L> {
    pub(crate) honest: Honest,
    pub(crate) lie: L,
}

#[async_trait]
impl<L: Lie> LeaseBackend for Liar<L> {
    fn capabilities(&self) -> Capabilities {
        self.lie.capabilities(&self.honest)
    }

    async fn open_session(&self, lease: Duration, metadata: &Metadata) -> Answer<Opened> {
        self.lie.open_session(&self.honest, lease, metadata).await
    }

    async fn keep_alive(&self, session: &SessionId, lease: Duration) -> Answer<KeepAlive> {
        self.lie.keep_alive(&self.honest, session, lease).await
    }

    async fn close_session(&self, session: &SessionId) -> Answer<()> {
        self.lie.close_session(&self.honest, session).await
    }

    async fn acquire(&self, session: &SessionId, names: &[LeaseName]) -> Answer<Acquired> {
        self.lie.acquire(&self.honest, session, names).await
    }

    async fn release(
        &self,
        session: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Answer<Vec<(LeaseName, Release)>> {
        self.lie.release(&self.honest, session, leases).await
    }

    async fn join(&self, session: &SessionId, group: &GroupName) -> Answer<Joined> {
        self.lie.join(&self.honest, session, group).await
    }

    async fn leave(&self, session: &SessionId, group: &GroupName) -> Answer<()> {
        self.lie.leave(&self.honest, session, group).await
    }

    async fn members(&self, group: &GroupName) -> Answer<Vec<Member>> {
        self.lie.members(&self.honest, group).await
    }

    async fn inspect(&self, name: &LeaseName) -> Answer<Option<Holder>> {
        self.lie.inspect(&self.honest, name).await
    }

    fn hints(&self) -> Option<Box<dyn HintSource>> {
        self.lie.hints(&self.honest)
    }
}
