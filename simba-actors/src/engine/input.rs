//! What the engine is told.

use std::time::Duration;

use simba_backends::{Acquired, BackendError, Hint, KeepAlive, LeaseName, Opened, Release, Token};

use super::{CallId, Instant, Reason};

/// When a step happens, and a random draw for it: time and chance come from outside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) now: Instant,
    pub(crate) chance: u64,
}

/// For how long somebody here wants a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Goal {
    /// One term after the other, until withdrawn: an election.
    Terms,
    /// One term; what ends it ends the wish: a lock.
    OneTerm,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// Nothing but time passed.
    Tick,
    /// Somebody here wants the lease.
    Contend { name: LeaseName, goal: Goal },
    /// Nobody here wants it any more.
    Withdraw { name: LeaseName, reason: Reason },
    /// It is wanted, but not for a while.
    StandDown { name: LeaseName, reason: Reason, stay_out: Duration },
    /// The handlers of a term that is ending have resolved and its work has ended.
    HandedOver { name: LeaseName, token: Token },
    /// Another thread saw the term's deadline pass before it could be extended.
    Lapsed { name: LeaseName, token: Token },
    /// News from the storage.
    Hint(Hint),
    /// The storage answered a call.
    Answer { call: CallId, answer: Answer },
    /// Simba is closed.
    Close,
}

/// What the storage answered, one variant for each kind of call.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Opened(Result<Opened, BackendError>),
    KeptAlive(Result<KeepAlive, BackendError>),
    Acquired(Result<Acquired, BackendError>),
    Released(Result<Vec<(LeaseName, Release)>, BackendError>),
    Closed(Result<(), BackendError>),
}
