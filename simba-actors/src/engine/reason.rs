//! Why a term ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a term ended.
///
/// After [`Deadline`](Self::Deadline), [`SessionExpired`](Self::SessionExpired) and
/// [`LeaseLost`](Self::LeaseLost) the work must stop at once: another may lead already. All others were given
/// on this side, and the lease is handed over: `Term::hand_over_remaining` tells how much time that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The election was stopped.
    Stopped,
    /// The leader stepped down.
    SteppedDown,
    /// The lock was released.
    Released,
    /// Simba was closed, or its thread ended.
    Closed,
    /// The partition is now another member's.
    Reassigned,
    /// No keep-alive was answered in time: the local deadline passed.
    Deadline,
    /// The storage says that the session has expired.
    SessionExpired,
    /// The storage says that the session no longer holds the lease.
    LeaseLost,
    /// A handler, or the term's work, panicked.
    HandlerFailed,
    /// The leader actor is gone.
    HandlerGone,
    /// The leader actor no longer answers its probe.
    Unresponsive,
}

impl Reason {
    /// The word for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::SteppedDown => "stepped_down",
            Self::Released => "released",
            Self::Closed => "closed",
            Self::Reassigned => "reassigned",
            Self::Deadline => "deadline",
            Self::SessionExpired => "session_expired",
            Self::LeaseLost => "lease_lost",
            Self::HandlerFailed => "handler_failed",
            Self::HandlerGone => "handler_gone",
            Self::Unresponsive => "unresponsive",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
