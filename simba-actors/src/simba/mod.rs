//! One Simba: the session of this process and what hangs on it.

mod builder;
mod error;
mod thread;

use std::{fmt, sync::Arc};

use actix::Addr;
use simba_backends::{LeaseName, NameError, SessionId};
use tokio::sync::oneshot;

pub use self::{
    builder::SimbaBuilder,
    error::{CloseError, ConnectError},
};
use crate::{
    Events, SimbaConfig,
    backend::BackendActor,
    election::ElectionBuilder,
    event::EventBus,
    gate::Gate,
    lock::Lock,
    observe::Observer,
    session::{CloseSession, SessionActor},
};

/// One session on one storage, kept alive, with the elections and locks that contend through it.
///
/// A process needs one; several only to keep groups of leases apart from each other's trouble. A clone
/// is a reference count and stands for the same session.
///
/// Works from an actix System and from a plain tokio program: keep-alives, Simba's actors and the
/// storage's connections live on a thread of their own, and no user code runs there.
///
/// Dropping the last clone closes without waiting, as [`close`](Self::close) does with: keep one for as long
/// as an election or a lock is used. The handles of those keep nothing alive.
///
/// # Examples
///
/// ```
/// use simba_actors::Simba;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let simba = Simba::connect("memory:").await?;
/// let held = simba.lock("report")?.try_acquire().await?;
/// assert!(held.is_some_and(|term| term.is_valid()));
/// simba.close().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Simba {
    inner: Arc<Inner>,
}

/// The addresses of what runs on Simba's thread. Dropping it closes, also on its way to who connects (R15).
pub(crate) struct Handles {
    session: Addr<SessionActor>,
    backend: Addr<BackendActor>,
    /// The session that was opened first.
    first_session: SessionId,
}

struct Inner {
    handles: Handles,
    /// For what changes something.
    gate: Gate,
    /// For those who only look: they wait for the storage, and nobody else for them.
    gallery: Gate,
    events: EventBus,
    config: SimbaConfig,
}

impl Simba {
    /// Opens a session with default settings on the storage that a URL names, for example
    /// `sqlite://simba.db` or `memory:`.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says what is wrong with the URL or the storage, at once.
    ///
    /// # Cancel safety
    ///
    /// A session that was opened for a dropped call is closed again.
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        Self::builder().url(url).connect().await
    }

    /// Starts from the defaults.
    pub fn builder() -> SimbaBuilder {
        SimbaBuilder::new()
    }

    /// Names an election; it contends once it is started.
    ///
    /// # Errors
    ///
    /// [`NameError`] says which character cannot be in a name.
    pub fn election<N>(&self, name: N) -> Result<ElectionBuilder, NameError>
    where
        N: TryInto<LeaseName>,
        NameError: From<N::Error>,
    {
        Ok(ElectionBuilder::new(self.inner.handles.session.clone(), self.observer(name)?))
    }

    /// Names a lock; it is asked for by [`Lock::acquire`] and its like.
    ///
    /// # Errors
    ///
    /// [`NameError`] says which character cannot be in a name.
    pub fn lock<N>(&self, name: N) -> Result<Lock, NameError>
    where
        N: TryInto<LeaseName>,
        NameError: From<N::Error>,
    {
        let call_timeout = self.inner.config.timing().call_timeout;
        Ok(Lock::new(self.inner.handles.session.clone(), self.observer(name)?, call_timeout))
    }

    /// Yields what happens from now on.
    pub fn events(&self) -> Events {
        self.inner.events.subscribe()
    }

    /// Tells the session that was opened by the connect. A later one is told by the events, and by each
    /// [`Term::session`](crate::Term::session).
    pub fn first_session(&self) -> &SessionId {
        &self.inner.handles.first_session
    }

    /// Tells the settings.
    pub fn config(&self) -> &SimbaConfig {
        &self.inner.config
    }

    /// Hands over every term, frees every lease and closes the session.
    ///
    /// Leaders get `Revoked` and the time of their hand-over; a lock that is held is waited for as long
    /// as its term would have lasted. Everything else fails with `Closed` from now on. A second close is
    /// fine, and waits for the first.
    ///
    /// Resolves at the latest when the longest hand-over and one call to the storage are over.
    ///
    /// # Errors
    ///
    /// [`CloseError`] names the leases that the storage did not confirm, and when they free themselves.
    ///
    /// # Cancel safety
    ///
    /// Once polled, closing goes on even if the future is dropped.
    pub async fn close(&self) -> Result<(), CloseError> {
        let (reply, report) = oneshot::channel();
        self.inner.handles.session.do_send(CloseSession { reply: Some(reply) });
        match report.await {
            Ok(report) if report.unfreed.is_empty() => Ok(()),
            Ok(report) => Err(CloseError { unfreed: report.unfreed, free_in: report.free_in }),
            // The thread has ended: there is nothing left to close.
            Err(_) => Ok(()),
        }
    }

    #[cfg(test)]
    pub(crate) fn session_actor(&self) -> &Addr<SessionActor> {
        &self.inner.handles.session
    }

    fn observer<N>(&self, name: N) -> Result<Observer, NameError>
    where
        N: TryInto<LeaseName>,
        NameError: From<N::Error>,
    {
        let Inner { handles, gate, gallery, .. } = &*self.inner;
        Ok(Observer::new(name.try_into()?, handles.backend.clone(), gate.clone(), gallery.clone()))
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        self.session.do_send(CloseSession { reply: None });
    }
}

impl fmt::Debug for Simba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simba").field("config", &self.inner.config).finish_non_exhaustive()
    }
}
