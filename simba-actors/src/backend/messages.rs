//! What children of the session ask the [`BackendActor`](super::BackendActor), what it is told by the
//! keeper, and what it tells the children.

use std::time::Duration;

use actix::{Message, Recipient};
use simba_backends::{BackendError, Holder, LeaseName, Token};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::{
    engine::{Goal, Notice, Reason},
    session::SessionNews,
    term::Term,
};

/// Contends for a lease from now on; `news` hears what becomes of it.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Acquire {
    pub(crate) name: LeaseName,
    pub(crate) goal: Goal,
    pub(crate) news: Recipient<LeaseNews>,
}

/// Contends no more, and ends the term that may run.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Release {
    pub(crate) name: LeaseName,
    pub(crate) reason: Reason,
}

/// Stays out of the contest for a while, and ends the term that may run.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct StandDown {
    pub(crate) name: LeaseName,
    pub(crate) reason: Reason,
    pub(crate) stay_out: Duration,
}

/// Says that the handlers of an ending term have resolved and its work has ended.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct HandOver {
    pub(crate) name: LeaseName,
    pub(crate) token: Token,
}

/// Asks who holds a lease.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Inspect {
    pub(crate) name: LeaseName,
    pub(crate) reply: oneshot::Sender<Result<Option<Holder>, BackendError>>,
    /// Kept until the storage has answered: bounds how many ask at once.
    pub(crate) permit: OwnedSemaphorePermit,
}

/// Says that a child was built anew and asks for the term that runs.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Resume {
    pub(crate) name: LeaseName,
    pub(crate) news: Recipient<LeaseNews>,
}

/// Says that a child is gone.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Forget {
    pub(crate) name: LeaseName,
}

/// Says who wants to hear about the session.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Report {
    pub(crate) to: Recipient<SessionNews>,
}

/// Ends everything.
#[derive(Message)]
#[rtype(result = "()")]
pub(crate) struct Close;

/// What the keeper tells, in the order in which it happened.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) enum Told {
    Started(Term),
    Ending(Term, Reason),
    Ended(Term, Reason),
    Overdue(Term),
    Refused {
        name: LeaseName,
    },
    Failed {
        name: LeaseName,
        error: BackendError,
    },
    /// A [`Release`] or [`StandDown`] has arrived: what was told before did not know of it.
    Heard {
        name: LeaseName,
    },
    Settled {
        name: LeaseName,
    },
    Notice(Notice),
    Closed {
        unfreed: Vec<LeaseName>,
        free_in: Option<Duration>,
    },
    /// The keeper is gone without having closed (R21).
    Died,
}

/// What the child of one name hears.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) enum LeaseNews {
    /// A term starts.
    Started(Term),
    /// It was ended deliberately: answer with [`HandOver`] when nothing works for it any more.
    Ending(Term, Reason),
    /// It was ended by force, at once.
    Ended(Term, Reason),
    /// Its hand-over is no longer waited for.
    Overdue(Term),
    /// Another session holds the lease.
    Refused,
    /// The attempt failed and is made again.
    Failed(BackendError),
    /// A [`Release`] or [`StandDown`] has arrived: the news before did not know of it, those from now on do.
    Heard,
    /// After [`Release`] or [`StandDown`]: nothing of the name is held or on its way.
    Settled,
    /// The answer to [`Resume`].
    Resumed(Option<Term>),
}
