//! The clock that goes on while the host is suspended: a lease does too.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Elsewhere than on these systems the monotonic clock is the best there is. On Apple's it counts a
/// suspend, on the others a suspended process may trust a term for too long.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "fuchsia", target_os = "openbsd"))]
const BOOT: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "fuchsia", target_os = "openbsd")))]
const BOOT: ClockId = ClockId::Monotonic;

/// The time since the host's boot, time spent suspended included.
#[inline]
pub fn since_boot() -> Duration {
    let time = clock_gettime(BOOT);
    // The kernel counts from boot, and its nanoseconds are below one second.
    Duration::from_secs(time.tv_sec.cast_unsigned()) + Duration::from_nanos(time.tv_nsec.cast_unsigned())
}
