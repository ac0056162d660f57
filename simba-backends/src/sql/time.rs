//! The storage's milliseconds.

use std::time::Duration;

use crate::BackendError;

/// No lease is longer, so that adding one to the time cannot leave a signed 64-bit column.
const LONGEST: i64 = 100 * 366 * 24 * 3600 * 1000;

/// A lease in the storage's milliseconds.
pub(crate) fn millis(lease: Duration) -> Result<i64, BackendError> {
    match i64::try_from(lease.as_millis()).unwrap_or(LONGEST).min(LONGEST) {
        0 | 1 => Err(BackendError::config("a SQL storage counts in milliseconds: a lease is at least 2 ms")),
        millis => Ok(millis),
    }
}

/// What is left of a lease for its holder. A millisecond less than the clocks say: the holder counts from a
/// time that the storage's clock had already passed by a part of one, and cut off.
pub(crate) fn left(expires_at: i64, now: i64) -> Duration {
    span(expires_at, now).saturating_sub(Duration::from_millis(1))
}

/// A difference of two of the storage's times; nothing where the second is the later one.
pub(crate) fn span(later: i64, earlier: i64) -> Duration {
    Duration::from_millis(u64::try_from(later.saturating_sub(earlier)).unwrap_or(0))
}
