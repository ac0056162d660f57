//! What the [`LockActor`](super::LockActor) is asked, and what it answers.

use std::time::Duration;

use actix::Message;
use simba_backends::{BackendError, LeaseName};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::LockTerm;
use crate::{Reason, Term, session::Use};

/// Says why a lock is not held, or no longer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// It was not to be had in that time. Try again, or wait longer.
    #[error("the lock {name} was not acquired within {waited:?}{}", cause(.last))]
    #[non_exhaustive]
    Timeout {
        /// The name of the lock.
        name: LeaseName,
        /// For how long was waited.
        waited: Duration,
        /// The error of the last attempt, if it failed otherwise than by another holder.
        last: Option<BackendError>,
    },
    /// The term had ended before the lock was released: another may have been at work meanwhile.
    #[error("the lock {name} was lost: {reason}")]
    #[non_exhaustive]
    Lost {
        /// The name of the lock.
        name: LeaseName,
        /// Why its term ended.
        reason: Reason,
    },
    /// The one attempt failed; the storage's error says whether to try again.
    #[error("the lock {name} could not be asked for: {source}")]
    #[non_exhaustive]
    Backend {
        /// The name of the lock.
        name: LeaseName,
        /// What the storage said.
        source: BackendError,
    },
    /// The name is in use on this Simba for something else; choose another.
    #[error("{name} cannot be a lock: it is in use as {by} on this Simba; choose another name")]
    #[non_exhaustive]
    InUse {
        /// The name.
        name: LeaseName,
        /// What it is used for.
        by: Use,
    },
    /// Too many wait for this lock in this process already.
    #[error("{waiting} wait for the lock {name} in this process already; let some finish first")]
    #[non_exhaustive]
    TooManyWaiters {
        /// The name of the lock.
        name: LeaseName,
        /// How many.
        waiting: usize,
    },
    /// Simba was closed; connect anew.
    #[error("simba is closed: connect anew")]
    Closed,
}

fn cause(last: &Option<BackendError>) -> String {
    last.as_ref().map_or_else(String::new, |error| format!("; the last attempt failed: {error}"))
}

/// One wish for the lock, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaiterId(pub(super) u64);

/// How long a waiter waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// One attempt, and only if nobody here is ahead.
    OneAttempt,
    /// In the queue, until given up.
    Queue,
}

/// Asks for the lock. `Ok(None)` says that another holds it, to who has patience for one attempt.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct LockRequest {
    pub(crate) name: LeaseName,
    pub(super) id: WaiterId,
    pub(super) patience: Patience,
    pub(super) reply: oneshot::Sender<Result<Option<LockTerm>, LockError>>,
    /// Until the lock's own actor has looked at it.
    pub(super) permit: OwnedSemaphorePermit,
}

impl LockRequest {
    /// Answers that it cannot be.
    pub(crate) fn refuse(self, error: LockError) {
        // Who asked may be gone.
        let _ = self.reply.send(Err(error));
    }
}

/// The time is up: answer now, with a time-out unless the lock was won meanwhile.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct GiveUp {
    pub(crate) name: LeaseName,
    pub(super) id: WaiterId,
    /// For how long was waited; `None` if nobody listens any more.
    pub(super) waited: Option<Duration>,
}

/// Releases the lock; answered once the storage has confirmed it.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Unlock {
    pub(super) term: Term,
    pub(super) reply: Option<oneshot::Sender<()>>,
}
