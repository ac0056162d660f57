//! When a purge is due.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::time;

/// When the last purge began, in the storage's time.
pub(crate) struct PurgeTimer {
    interval: Duration,
    last: Mutex<Option<i64>>,
}

impl PurgeTimer {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, last: Mutex::new(None) }
    }

    /// Whether a purge is due now; if so, the next is due an interval later. A clock that went back does
    /// not put it off.
    pub(crate) fn is_due(&self, now: i64) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |last: i64| now >= last && time::span(now, last) < self.interval;
        let due = !last.is_some_and(waits);
        if due {
            *last = Some(now);
        }
        due
    }
}
