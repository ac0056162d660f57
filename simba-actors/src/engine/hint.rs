//! Hints: they call a candidate up at once. All may be lost; that costs latency only.

use std::time::Duration;

use simba_backends::{Hint, LeaseName};

use super::{
    Engine, Instant, Timer,
    lease::{Pace, Stage},
};

/// So few waiters that were counted all ask at once: a storage does not notice so many calls, and the fastest of
/// them has the lease after one.
const FEW: u32 = 32;

/// More of them spread over so much each: however many they are, the first asks after about that long, and some 25
/// in the first second.
const PER_WAITER: Duration = Duration::from_millis(40);

/// How long the waiters of a name, counted, spread.
fn window_for(waiters: u32) -> Duration {
    if waiters <= FEW { Duration::ZERO } else { PER_WAITER.saturating_mul(waiters) }
}

impl Engine {
    pub(super) fn hinted(&mut self, hint: Hint) {
        match hint {
            Hint::Released { name, waiters } => {
                // The window guesses from lost races what a storage that counts knows.
                let window = match waiters {
                    Some(waiters) => window_for(waiters),
                    None => self.window(&name),
                };
                self.call_up(&name, self.now + self.spread(&name, window));
            }
            Hint::Gap => {
                let waiting = self.leases.iter().filter(|(_, lease)| lease.watched);
                let waiting: Vec<_> = waiting.map(|(name, _)| name.clone()).collect();
                for name in waiting {
                    self.call_up(&name, self.now + self.spread(&name, self.window(&name)));
                }
            }
            // Groups look for themselves.
            Hint::Members(_) => {}
        }
    }

    /// Moves the next attempt up. A later hint draws anew: what an earlier one called for is over, and calls that
    /// add up would be a stampede after some hand-overs.
    pub(super) fn call_up(&mut self, name: &LeaseName, at: Instant) {
        let Some(lease) = self.leases.get_mut(name) else { return };
        match &mut lease.stage {
            Stage::Waiting { pace, by } => {
                *pace = Pace::Rush;
                self.timers.set(Timer::Retry(name.clone()), at.min(*by));
            }
            Stage::Attempting(attempt) => {
                attempt.again_at = Some(attempt.again_at.map_or(at, |before| before.min(at)));
            }
            Stage::Idle | Stage::Queued { .. } | Stage::Held(_) => {}
        }
    }
}
