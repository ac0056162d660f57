//! What the [`SessionActor`](super::SessionActor) is asked by users and told by its children.

use std::{fmt, time::Duration};

use actix::{Addr, Message};
use simba_backends::LeaseName;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::{
    election::{Leader, Roll, Started},
    lock::LockActor,
};

/// What one name is used for on one Simba.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Use {
    /// An election that has been started and has not ended.
    Election,
    /// A lock that is held or waited for.
    Lock,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Election => "an election",
            Self::Lock => "a lock",
        })
    }
}

/// Says why an election could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The name is in use on this Simba; choose another, or end that use first.
    #[error("{name} cannot be an election: it is in use as {by} on this Simba; choose another name")]
    #[non_exhaustive]
    InUse {
        /// The name.
        name: LeaseName,
        /// What it is used for.
        by: Use,
    },
    /// Simba was closed; connect anew.
    #[error("simba is closed: connect anew")]
    Closed,
}

/// Starts an election.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct StartElection {
    pub(crate) name: LeaseName,
    pub(crate) leader: Leader,
    pub(crate) roll: Roll,
    pub(crate) reply: oneshot::Sender<Result<Started, StartError>>,
    pub(crate) permit: OwnedSemaphorePermit,
}

/// Says that an election has ended and everybody has been told.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct ElectionEnded {
    pub(crate) name: LeaseName,
}

/// Says that nobody holds or wants a lock any more, after so many requests.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct LockIdle {
    pub(crate) name: LeaseName,
    /// Who says so. A lock may say it twice, and be succeeded by another of its name in between.
    pub(crate) lock: Addr<LockActor>,
    pub(crate) handled: u64,
}

/// Closes Simba; without `reply`, nobody waits for it.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct CloseSession {
    pub(crate) reply: Option<oneshot::Sender<ClosedReport>>,
}

/// Tells a child about the end of Simba.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub(crate) enum SimbaClosed {
    /// Nothing new is begun; terms that run are handed over.
    Begun,
    /// Nothing is left.
    Over,
}

/// How closing went: what could not be freed, and when it frees itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClosedReport {
    pub(crate) unfreed: Vec<LeaseName>,
    pub(crate) free_in: Option<Duration>,
}

/// What the backend actor tells about the session.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) enum SessionNews {
    /// Closed as asked.
    Closed { unfreed: Vec<LeaseName>, free_in: Option<Duration> },
    /// The keeper is gone (R21).
    Died,
}
