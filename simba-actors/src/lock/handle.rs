//! The handle of a lock.

use std::{fmt, time::Duration};

use actix::Addr;
use simba_backends::{Holder, LeaseName};

use super::{LockError, LockTerm, messages::Patience, request::Wish};
use crate::{
    Term,
    observe::{ObserveError, Observer},
    session::SessionActor,
};

/// A lock by its name. Holds nothing by itself: clone and drop it freely.
///
/// Those who wait for one lock on one `Simba` are served in order, and only the first of them contends
/// at the storage. It is not reentrant: who holds it and asks again waits for itself. It keeps no session
/// alive: with the last [`Simba`](crate::Simba) it is closed.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use simba_actors::Simba;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let simba = Simba::connect("memory:").await?;
/// let lock = simba.lock("invoice-42")?;
/// let term = lock.acquire(Duration::from_secs(5)).await?;
/// assert!(lock.try_acquire().await?.is_none());
/// term.ensure_valid(Duration::from_secs(2))?;
/// term.release().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Lock {
    session: Addr<SessionActor>,
    observer: Observer,
    /// After which one attempt is given up: a session that has to be opened first, and the attempt.
    attempt_limit: Duration,
}

impl Lock {
    pub(crate) fn new(session: Addr<SessionActor>, observer: Observer, call_timeout: Duration) -> Self {
        Self { session, observer, attempt_limit: call_timeout * 2 }
    }

    /// Tells the name of the lock.
    pub fn name(&self) -> &LeaseName {
        self.observer.name()
    }

    /// Waits for the lock, at most for `timeout`; as long as it takes with [`Duration::MAX`].
    ///
    /// Goes on while the storage cannot be reached: it may be back in time. Who does not want to wait calls
    /// [`try_acquire`](Self::try_acquire): a `timeout` of zero is up before the storage has answered.
    ///
    /// # Errors
    ///
    /// [`LockError::Timeout`] with the last attempt's error, if it failed otherwise than by another
    /// holder; [`LockError::InUse`], [`LockError::TooManyWaiters`] and [`LockError::Closed`] at once.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with timers (actix has one).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future withdraws the wish; a lock that was won meanwhile is released.
    pub async fn acquire(&self, timeout: Duration) -> Result<LockTerm, LockError> {
        match self.ask(Patience::Queue, timeout).await? {
            Some(term) => Ok(term),
            None => Err(LockError::Timeout { name: self.name().clone(), waited: timeout, last: None }),
        }
    }

    /// Tries once, and answers `None` if another holds the lock or waits for it in this process.
    ///
    /// # Errors
    ///
    /// [`LockError::Backend`] if the attempt failed, [`LockError::Timeout`] if there was no session to make
    /// it with; [`LockError::InUse`] and [`LockError::Closed`] at once.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with timers (actix has one).
    ///
    /// # Cancel safety
    ///
    /// As [`acquire`](Self::acquire).
    pub async fn try_acquire(&self) -> Result<Option<LockTerm>, LockError> {
        self.ask(Patience::OneAttempt, self.attempt_limit).await
    }

    /// Waits for the lock, runs `work` for as long as its term is valid, and releases it.
    ///
    /// The work is dropped at the end of the term, so that it never goes on unprotected.
    ///
    /// # Errors
    ///
    /// As [`acquire`](Self::acquire), and [`LockError::Lost`] if the term ended before the work did.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with timers, and if the work panics; the lock is released then too.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the work and releases the lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use simba_actors::{Simba, Term};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let simba = Simba::connect("memory:").await?;
    /// let token = simba.lock("invoice-42")?
    ///     .with(Duration::from_secs(5), async |term: &Term| term.token())
    ///     .await?;
    /// assert_eq!(token.get(), 1);
    /// # Ok(()) }
    /// ```
    pub async fn with<T>(
        &self,
        timeout: Duration,
        work: impl AsyncFnOnce(&Term) -> T,
    ) -> Result<T, LockError> {
        let term = self.acquire(timeout).await?;
        let lost = |reason| LockError::Lost { name: self.name().clone(), reason };
        let output = term.run(work(&term)).await.map_err(lost)?;
        term.release().await?;
        Ok(output)
    }

    /// Tells who holds the lock, in this process or another.
    ///
    /// # Errors
    ///
    /// [`ObserveError`] if the storage cannot be asked.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn holder(&self) -> Result<Option<Holder>, ObserveError> {
        self.observer.holder().await
    }

    async fn ask(&self, patience: Patience, limit: Duration) -> Result<Option<LockTerm>, LockError> {
        let (session, name) = (self.session.clone(), self.name().clone());
        Wish::ask(session, self.observer.gate(), name, patience, limit).await
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("name", self.name()).finish_non_exhaustive()
    }
}
