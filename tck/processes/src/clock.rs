//! The clock that all processes of a host share.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time since the host's boot, the same in each process.
pub fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    // The kernel counts from boot, and its nanoseconds are below one second.
    Duration::from_secs(time.tv_sec.cast_unsigned()) + Duration::from_nanos(time.tv_nsec.cast_unsigned())
}
