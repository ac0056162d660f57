//! What the engine decides.

use std::time::Duration;

use simba_backends::{BackendError, LeaseName, SessionId, Token};

use super::{Call, CallId, Instant, Reason};

/// One thing to be done, in the order given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Effect {
    /// Send this call; its answer comes back as an input.
    Call { id: CallId, call: Call },
    /// Nobody waits for that call's answer any more.
    Abandon(CallId),

    /// A term starts.
    Started { name: LeaseName, token: Token, session: SessionId, valid_until: Instant },
    /// A term that has not passed its deadline lasts longer.
    Extended { name: LeaseName, token: Token, valid_until: Instant },
    /// A deliberate end: the term is invalid now; the lease stays until `HandedOver` or `hand_over_by`.
    Ending { name: LeaseName, token: Token, reason: Reason, hand_over_by: Instant },
    /// A forced end: the term is invalid now and nothing protects its work.
    Ended { name: LeaseName, token: Token, reason: Reason },
    /// The hand-over of an ending term is no longer waited for.
    Overdue { name: LeaseName, token: Token },

    /// An attempt found another holder.
    Refused { name: LeaseName, free_in: Option<Duration> },
    /// An attempt failed, so often in a row; it is tried again.
    Failed { name: LeaseName, failures: u32, error: BackendError },
    /// After a withdrawal or stand-down: nothing of that name is held or on its way, or, if not
    /// `confirmed`, nobody could be asked in time and the lease frees itself with the session.
    Settled { name: LeaseName, confirmed: bool },

    /// Ask for hints about that name.
    Watch(LeaseName),
    /// Ask for no more hints about it.
    Unwatch(LeaseName),

    /// Something that people want to know.
    Notice(Notice),
    /// The engine is at its end. What is named could not be freed and is free at that time.
    Closed { unfreed: Vec<LeaseName>, free_at: Option<Instant> },
}

/// News about the session and the storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Notice {
    SessionOpened {
        session: SessionId,
    },
    OpenFailed {
        failures: u32,
        error: BackendError,
    },
    RenewFailed {
        failures: u32,
        error: BackendError,
    },
    Suspended {
        remaining: Duration,
    },
    Resumed,
    SessionExpired {
        session: SessionId,
    },
    /// The storage confirmed a release.
    Released {
        name: LeaseName,
        token: Token,
    },
    /// The storage granted a token that it had granted before: it lost data (R19).
    TokenRegressed {
        name: LeaseName,
        token: Token,
        floor: Token,
    },
    /// The storage's clock and ours disagree on how much time passed (R20).
    ClockStep {
        local: Duration,
        server: Duration,
    },
}
