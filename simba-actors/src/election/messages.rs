//! What the [`ElectionActor`](super::ElectionActor) is asked.

use std::time::Duration;

use actix::{Addr, Message};
use simba_backends::Token;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::ElectionActor;

/// Ends the election.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Stop {
    pub(crate) reply: Option<oneshot::Sender<()>>,
    /// `None` where no user calls.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
}

/// An election on its way to who started it; if nobody takes it, it is stopped (R15).
pub(crate) struct Started(Option<Addr<ElectionActor>>);

impl Started {
    pub(crate) fn new(election: Addr<ElectionActor>) -> Self {
        Self(Some(election))
    }

    /// Takes it; from now on it ends when it is told to.
    pub(super) fn take(mut self) -> Addr<ElectionActor> {
        self.0.take().expect("taken once, because it takes self")
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(nobody) = self.0.take() {
            nobody.do_send(Stop { reply: None, permit: None });
        }
    }
}

/// Gives up the lead and stays out for a while. `Err` says that the election has ended.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct StepDown {
    pub(super) stay_out: Duration,
    pub(super) reply: oneshot::Sender<Result<(), ()>>,
    pub(super) permit: OwnedSemaphorePermit,
}

/// Looks whether the leader actor still exists: nothing announces that it is gone.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct CheckLeader;

/// Says that the work of a term has ended.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct WorkEnded {
    pub(super) token: Token,
    pub(super) how: WorkEnd,
}

/// How the work of a term has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkEnd {
    /// It was dropped, because the term had ended.
    Dropped,
    /// It returned while the term was valid, and wants to lead again.
    Returned,
    /// It returned with the value that ends the job.
    Finished,
    /// It panicked.
    Panicked,
}
