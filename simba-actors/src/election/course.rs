//! The course of one term, as far as its leader is concerned (R3, R4).

use tokio::sync::oneshot;

use crate::{Reason, Term, backend::Requests};

/// One term from `Elected` to the end of its hand-over.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) term: Term,
    /// Whether the leader still works on `Elected`, or its work still runs.
    pub(super) leading: Leading,
    pub(super) end: End,
}

/// What the leader makes of its election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leading {
    /// The handler of `Elected` has not resolved, or the work runs.
    Busy,
    /// It has, or the work has ended.
    Free,
}

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The term runs.
    Ahead,
    /// It ended deliberately, and `Revoked` waits for the leader to be free.
    Begun(Reason),
    /// `Revoked` was sent, and its handler has not resolved.
    Revoked,
}

impl Course {
    pub(super) fn new(term: Term) -> Self {
        Self { term, leading: Leading::Busy, end: End::Ahead }
    }
}

/// What outlives a panic of the actor.
#[derive(Default)]
pub(crate) struct Kept {
    /// The term whose `Elected` was sent, until it has ended for its leader too.
    pub(super) course: Option<Course>,
    pub(super) state: State,
    /// Who waits until the election has ended.
    pub(super) stops: Vec<oneshot::Sender<()>>,
    pub(super) requests: Requests<Request>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Contending,
    Stopping,
    Ended,
}

/// Why nothing shall be held.
pub(super) enum Request {
    Stop,
    StepDown(oneshot::Sender<Result<(), ()>>),
}
