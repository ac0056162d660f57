//! The record of one lease name, and the wishes of those who want it.
//!
//! ```text
//!             contend                due             answered
//!   Idle ───────────────► Queued ──────────► Attempting ──────► Held
//!    ▲ ▲                    ▲   retry timer      │ held by another │
//!    │ │                 Waiting ◄───────────────┘                 │
//!    │ └── stands out, or its release is pending                   │
//!    └──────────────── handed over, ended ─────────────────────────┘
//! ```

use std::time::Duration;

use simba_backends::{LeaseName, Token};

use super::{Effect, Engine, Goal, Instant, Reason, Timer, attempt::Attempt};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lease {
    /// What somebody here wants of it.
    pub(super) wanted: Option<Goal>,
    /// Stands out of the contest until the come-back timer fires (R17).
    pub(super) stands_out: bool,
    pub(super) stage: Stage,
    /// Attempts that failed in a row.
    pub(super) failures: u32,
    /// How far candidates spread after a hint or an expiry: doubles with each lost race.
    pub(super) window: Duration,
    /// Hints are asked for.
    pub(super) watched: bool,
    /// Somebody waits for [`Effect::Settled`].
    pub(super) settling: bool,
}

/// Where one name stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// Nothing is under way, for one of the reasons drawn above.
    #[default]
    Idle,
    /// Tried again when the retry timer fires, `by` then at the latest; a hint may call it earlier.
    Waiting { pace: Pace, by: Instant },
    /// In the queue for the next acquire call.
    Queued { place: u64, pace: Pace },
    /// In the acquire call that is in flight.
    Attempting(Attempt),
    /// A term runs, or is being handed over.
    Held(Held),
}

/// What made an attempt due: only who was called with many others can lose a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pace {
    /// The regular time, or the first attempt.
    Regular,
    /// A hint, or the end of the holder's lease.
    Rush,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) token: Token,
    /// Smaller than the ticket of every call that was sent later (R6).
    pub(super) ticket: u64,
    pub(super) valid_until: Instant,
    /// When the term is invalid already and waits for its handlers (R4), at most until then.
    pub(super) hand_over: Option<Instant>,
}

impl Lease {
    pub(super) fn held_mut(&mut self) -> Option<&mut Held> {
        match &mut self.stage {
            Stage::Held(held) => Some(held),
            Stage::Idle | Stage::Waiting { .. } | Stage::Queued { .. } | Stage::Attempting(_) => None,
        }
    }

    pub(super) fn held(&self) -> Option<&Held> {
        match &self.stage {
            Stage::Held(held) => Some(held),
            Stage::Idle | Stage::Waiting { .. } | Stage::Queued { .. } | Stage::Attempting(_) => None,
        }
    }
}

impl Engine {
    pub(super) fn contend(&mut self, name: LeaseName, goal: Goal) {
        if self.closing.is_none() {
            self.leases.entry(name.clone()).or_default().wanted = Some(goal);
            self.contend_again(&name);
        }
    }

    pub(super) fn withdraw(&mut self, name: &LeaseName, reason: Reason) {
        let Some(lease) = self.leases.get_mut(name) else {
            return self.emit(Effect::Settled { name: name.clone(), confirmed: true });
        };
        lease.wanted = None;
        lease.stands_out = false;
        self.timers.cancel(&Timer::ComeBack(name.clone()));
        self.settle(name, reason);
    }

    pub(super) fn stand_down(&mut self, name: &LeaseName, reason: Reason, stay_out: Duration) {
        let Some(lease) = self.leases.get_mut(name) else {
            return self.emit(Effect::Settled { name: name.clone(), confirmed: true });
        };
        lease.stands_out = true;
        // A handler that fails, or a shorter step-down, takes nothing from the longer one that was promised.
        self.timers.set_later(Timer::ComeBack(name.clone()), self.now + stay_out);
        self.settle(name, reason);
    }

    pub(super) fn come_back(&mut self, name: &LeaseName) {
        if let Some(lease) = self.leases.get_mut(name) {
            lease.stands_out = false;
            self.contend_again(name);
        }
    }

    /// Whether a lease is wanted now.
    pub(super) fn contends(&self, lease: &Lease) -> bool {
        lease.wanted.is_some() && !lease.stands_out && self.closing.is_none()
    }

    /// Puts a name in the queue if it is wanted, does not stand out and nothing of it is under way.
    ///
    /// While a release of an older token is pending nothing is asked for: an abandoned release could
    /// meet the new lease on a storage that compares the token and deletes in two steps.
    pub(super) fn contend_again(&mut self, name: &LeaseName) {
        let Some(lease) = self.leases.get(name) else { return };
        if self.contends(lease) && lease.stage == Stage::Idle && !self.releases.pending(name) {
            self.enqueue(name, Pace::Regular);
        }
    }

    /// Ends what runs and what waits, and says so when nothing of the name is left (R4, R5, R17).
    pub(super) fn settle(&mut self, name: &LeaseName, reason: Reason) {
        self.stop_waiting(name);
        self.unwatch(name);
        let Some(lease) = self.leases.get_mut(name) else { return };
        lease.settling = true;
        let (held, attempting) = match &lease.stage {
            Stage::Held(held) => (Some(held.clone()), false),
            Stage::Attempting(_) => (None, true),
            Stage::Idle | Stage::Waiting { .. } | Stage::Queued { .. } => (None, false),
        };
        let patience = self.timing.call_timeout;
        let by = match &held {
            Some(held) => held.valid_until,
            None if attempting => self.now + patience * 2,
            None => self.now + patience,
        };
        // Who asked first is not kept waiting by who asks again.
        self.timers.set_earlier(Timer::Settle(name.clone()), by);
        if let Some(held) = held.filter(|held| held.hand_over.is_none()) {
            self.begin_hand_over(name, &held, reason);
        }
        self.check_settled(name);
    }

    /// Says that nothing of a name is left, once that is so, and forgets what nobody wants.
    pub(super) fn check_settled(&mut self, name: &LeaseName) {
        let Some(lease) = self.leases.get(name) else { return };
        let quiet = match lease.stage {
            Stage::Idle | Stage::Waiting { .. } | Stage::Queued { .. } => {
                !self.releases.pending(name) && !self.in_doubt.contains_key(name)
            }
            Stage::Attempting(_) | Stage::Held(_) => false,
        };
        // A list may have started and ended a term while the attempt was on its way: it still is.
        let asked_for = (lease.settling || lease.wanted.is_none()) && self.calls.ask_for(name);
        if quiet && !asked_for {
            self.settled(name, true);
        }
    }

    /// Nobody could be asked in time: the release goes on, but who waits is told.
    pub(super) fn settle_unconfirmed(&mut self, name: &LeaseName) {
        self.settled(name, false);
    }

    pub(super) fn settled(&mut self, name: &LeaseName, confirmed: bool) {
        let Some(lease) = self.leases.get_mut(name) else { return };
        if std::mem::take(&mut lease.settling) {
            self.timers.cancel(&Timer::Settle(name.clone()));
            self.emit(Effect::Settled { name: name.clone(), confirmed });
        }
        self.forget_if_unused(name);
    }

    fn forget_if_unused(&mut self, name: &LeaseName) {
        let Some(lease) = self.leases.get(name) else { return };
        let unused = lease.wanted.is_none() && lease.stage == Stage::Idle && !self.releases.pending(name);
        let certain = !self.in_doubt.contains_key(name);
        if certain && unused && !lease.settling {
            self.unwatch(name);
            self.leases.remove(name);
        }
    }

    pub(super) fn watch(&mut self, name: &LeaseName) {
        if let Some(lease) = self.leases.get_mut(name)
            && !std::mem::replace(&mut lease.watched, true)
        {
            self.emit(Effect::Watch(name.clone()));
        }
    }

    pub(super) fn unwatch(&mut self, name: &LeaseName) {
        if let Some(lease) = self.leases.get_mut(name)
            && std::mem::take(&mut lease.watched)
        {
            self.emit(Effect::Unwatch(name.clone()));
        }
    }
}
