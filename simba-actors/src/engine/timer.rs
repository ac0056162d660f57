//! All timers of the engine, in one place.

use std::collections::{BTreeMap, BTreeSet};

use simba_backends::{LeaseName, Token};

use super::{CallId, Instant};

/// What can come due.
///
/// Of those due at the same time the first in this order fires first: the end of what we own before
/// anything that might extend it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Timer {
    /// A term's deadline. Set when the term starts and not at every extension: when it fires, the
    /// deadline of that day decides.
    Deadline(LeaseName),
    /// The last confirmed keep-alive was sent a whole lease ago: the session counts as expired (R11).
    SessionLost,
    /// A hand-over has used up its time (R4).
    HandOver(LeaseName),
    /// Who waits to hear that nothing is left has waited long enough (R17).
    Settle(LeaseName),
    /// `close()` has used up its time (R14).
    CloseBy,
    /// A call had no answer for as long as we wait (R12).
    CallTimeout(CallId),
    /// The next keep-alive.
    Renew,
    /// The next try to open a session.
    Open,
    /// The next try to close the session.
    RetryClose,
    /// A release that failed is tried again (R7).
    Release(LeaseName, Token),
    /// A candidate tries again.
    Retry(LeaseName),
    /// A stand-down is over (R17).
    ComeBack(LeaseName),
}

impl Timer {
    const fn label(&self) -> &'static str {
        match self {
            Self::Deadline(_) => "deadline",
            Self::SessionLost => "session lost",
            Self::HandOver(_) => "hand-over",
            Self::Settle(_) => "settle",
            Self::CloseBy => "close by",
            Self::CallTimeout(_) => "call time-out",
            Self::Renew => "renew",
            Self::Open => "open",
            Self::RetryClose => "retry close",
            Self::Release(..) => "release",
            Self::Retry(_) => "retry",
            Self::ComeBack(_) => "come back",
        }
    }
}

/// Timers by time; each is set at most once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Timers {
    queue: BTreeSet<(Instant, Timer)>,
    set: BTreeMap<Timer, Instant>,
}

impl Timers {
    /// Sets a timer, instead of the time it was set to before.
    pub(super) fn set(&mut self, timer: Timer, at: Instant) {
        if let Some(before) = self.set.insert(timer.clone(), at) {
            self.queue.remove(&(before, timer.clone()));
        }
        self.queue.insert((at, timer));
    }

    /// Sets a timer unless it is set to an earlier time already.
    pub(super) fn set_earlier(&mut self, timer: Timer, at: Instant) {
        if self.set.get(&timer).is_none_or(|before| *before > at) {
            self.set(timer, at);
        }
    }

    /// Sets a timer unless it is set to a later time already.
    pub(super) fn set_later(&mut self, timer: Timer, at: Instant) {
        if self.set.get(&timer).is_none_or(|before| *before < at) {
            self.set(timer, at);
        }
    }

    pub(super) fn cancel(&mut self, timer: &Timer) {
        if let Some(at) = self.set.remove(timer) {
            self.queue.remove(&(at, timer.clone()));
        }
    }

    pub(super) fn is_set(&self, timer: &Timer) -> bool {
        self.set.contains_key(timer)
    }

    pub(super) fn first(&self) -> Option<(Instant, &'static str)> {
        self.queue.first().map(|(at, timer)| (*at, timer.label()))
    }

    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Timer> {
        if self.queue.first()?.0 > now {
            return None;
        }
        let (_, timer) = self.queue.pop_first()?;
        self.set.remove(&timer);
        Some(timer)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
