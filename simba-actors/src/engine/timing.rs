//! The durations that the engine works with.

use std::time::Duration;

use super::Instant;

/// Durations that fit together; `SimbaConfig` builds no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Timing {
    /// How long the storage keeps a session that sends no keep-alive.
    pub(crate) lease: Duration,
    /// From the send of one keep-alive to the send of the next.
    pub(crate) renew: Duration,
    /// How wrong clocks may run, in millionths.
    pub(crate) drift_ppm: u32,
    /// What is taken off each deadline for the delay between looking at a clock and acting.
    pub(crate) margin: Duration,
    /// The random part of a candidate's pace.
    pub(crate) retry_jitter: Duration,
    /// The first back-off after a failed call; doubles, at most `renew`.
    pub(crate) min_backoff: Duration,
    /// When a call without an answer is abandoned; at most `renew`.
    pub(crate) call_timeout: Duration,
}

impl Timing {
    /// Until when an answer vouches: what the storage said is left, counted from the *send* of the
    /// question, less what clocks may run wrong, less the margin. No session has more than a lease left: a
    /// storage that says so has stepped its clock back, or holds what Simba did not write.
    pub(crate) fn valid_until(&self, sent_at: Instant, remaining: Duration) -> Instant {
        let remaining = remaining.min(self.lease);
        let drift = remaining * self.drift_ppm / 1_000_000;
        sent_at + remaining.saturating_sub(drift).saturating_sub(self.margin)
    }

    /// The pause after the `failures`-th failure in a row.
    pub(crate) fn backoff(&self, failures: u32) -> Duration {
        let doubled = self.min_backoff.saturating_mul(1 << failures.saturating_sub(1).min(16));
        doubled.min(self.renew)
    }
}
