//! The credential of a lock.

use std::{fmt, ops::Deref};

use actix::Addr;
use tokio::sync::oneshot;

use super::{LockActor, LockError, messages::Unlock};
use crate::{Reason, Term};

/// A lock that was won: a [`Term`] that only its holder can release, so it is not `Clone`.
///
/// Not bound to a thread. Dropping it releases the lock without waiting, on any thread and with or
/// without a runtime. A lock that was lost is never acquired again by itself.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use simba_actors::{LockTerm, Simba, TermError};
///
/// fn charge(held: &LockTerm) -> Result<u64, TermError> {
///     held.ensure_valid(Duration::from_secs(2))?;
///     Ok(held.token().get())
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let simba = Simba::connect("memory:").await?;
/// let held = simba.lock("invoice-42")?.acquire(Duration::from_secs(5)).await?;
/// println!("charged under token {}", charge(&held)?);
/// held.release().await?;
/// # Ok(()) }
/// ```
#[must_use = "dropping it releases the lock"]
pub struct LockTerm {
    term: Term,
    /// `None` once it was asked to release: it ends with the last address.
    lock: Option<Addr<LockActor>>,
}

impl LockTerm {
    pub(super) fn new(term: Term, lock: Addr<LockActor>) -> Self {
        Self { term, lock: Some(lock) }
    }

    /// Releases the lock and waits until the storage has confirmed it, at the latest until the lease would
    /// have run out.
    ///
    /// # Errors
    ///
    /// [`LockError::Lost`] if the term had ended before: the work was not protected to its end.
    ///
    /// # Cancel safety
    ///
    /// The lock is released even if the future is dropped.
    pub async fn release(mut self) -> Result<(), LockError> {
        let (reply, answer) = oneshot::channel();
        self.unlock(Some(reply));
        // No answer means that the lock's actor is gone, and with it the lock.
        let _ = answer.await;
        match self.term.reason() {
            None | Some(Reason::Released) => Ok(()),
            Some(reason) => Err(LockError::Lost { name: self.term.name().clone(), reason }),
        }
    }

    fn unlock(&mut self, reply: Option<oneshot::Sender<()>>) {
        if let Some(lock) = self.lock.take() {
            lock.do_send(Unlock { term: self.term.clone(), reply });
        }
    }
}

impl Drop for LockTerm {
    fn drop(&mut self) {
        self.unlock(None);
    }
}

impl Deref for LockTerm {
    type Target = Term;
    fn deref(&self) -> &Term {
        &self.term
    }
}

impl fmt::Debug for LockTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LockTerm").field(&self.term).finish()
    }
}
