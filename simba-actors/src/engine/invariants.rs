//! What holds after every step; checked in debug builds and in the simulation.

use super::{
    Engine, Timer,
    lease::{Lease, Stage},
    session::Session,
};
use simba_backends::LeaseName;

/// Beyond so many names the check is left out: it looks at all of them at every step.
const MOST_CHECKED: usize = 200;

impl Engine {
    pub(super) fn check_invariants(&self) {
        if !cfg!(debug_assertions) || self.leases.len() > MOST_CHECKED || self.is_done() {
            return;
        }
        debug_assert!(self.session_moves(), "the session neither holds a timer nor a call: {self:?}");
        for (name, lease) in &self.leases {
            debug_assert!(self.lease_moves(name, lease), "{name} is wedged (R12): {self:?}");
        }
    }

    /// R12 for the session: it has a timer, or a call with a time-out, or is closing.
    fn session_moves(&self) -> bool {
        let closing = self.closing.is_some();
        match &self.session {
            Session::Opening { .. } => {
                closing || self.timers.is_set(&Timer::Open) || self.calls.open.is_some()
            }
            Session::Live(_) => {
                let renews = self.timers.is_set(&Timer::Renew) || self.calls.keep_alive.is_some();
                (renews || closing) && self.timers.is_set(&Timer::SessionLost)
            }
        }
    }

    /// R12 for a name: whatever it waits for has a timer, or a call with a time-out.
    fn lease_moves(&self, name: &LeaseName, lease: &Lease) -> bool {
        let comes_back = !lease.stands_out || self.timers.is_set(&Timer::ComeBack(name.clone()));
        let settles = !lease.settling || self.timers.is_set(&Timer::Settle(name.clone()));
        let moves = match &lease.stage {
            Stage::Idle => !self.contends(lease) || self.releases.pending(name),
            Stage::Waiting { .. } => self.timers.is_set(&Timer::Retry(name.clone())),
            Stage::Queued { place, .. } => self.ready.get(place) == Some(name),
            Stage::Attempting(_) => self.calls.acquire.is_some(),
            Stage::Held(held) if held.hand_over.is_some() => {
                self.timers.is_set(&Timer::HandOver(name.clone()))
            }
            Stage::Held(held) => {
                held.valid_until > self.now && self.timers.is_set(&Timer::Deadline(name.clone()))
            }
        };
        comes_back && settles && moves
    }
}
