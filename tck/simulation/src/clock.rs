//! A node's clock: runs at its own rate and may jump forward.

use std::time::Duration;

const MILLION: u64 = 1_000_000;

/// Tells local from true time and back.
#[derive(Clone, Debug)]
pub struct Clock {
    true_origin: Duration,
    local_origin: Duration,
    /// How fast it runs, in millionths of the right rate.
    rate: u64,
}

impl Clock {
    /// A clock that shows `local` at the true time zero and runs `off_ppm` millionths too fast.
    pub fn new(local: Duration, off_ppm: i32) -> Self {
        let rate = MILLION.saturating_add_signed(i64::from(off_ppm));
        Self { true_origin: Duration::ZERO, local_origin: local, rate }
    }

    /// What it shows at a true time.
    pub fn local(&self, at: Duration) -> Duration {
        let passed = nanos(at.saturating_sub(self.true_origin));
        self.local_origin + Duration::from_nanos(passed * self.rate / MILLION)
    }

    /// The first true time at which it shows `local`.
    pub fn true_at(&self, local: Duration) -> Duration {
        let passes = nanos(local.saturating_sub(self.local_origin));
        self.true_origin + Duration::from_nanos((passes * MILLION).div_ceil(self.rate))
    }

    /// Jumps forward.
    pub fn jump(&mut self, at: Duration, by: Duration) {
        self.local_origin = self.local(at) + by;
        self.true_origin = at;
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).expect("a run lasts minutes")
}
