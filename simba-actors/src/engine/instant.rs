//! A point in time, as the engine knows it.

use std::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

/// A point in time on this process's clock. Only differences mean anything.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Instant(Duration);

impl Instant {
    /// The point that lies `since_origin` after the clock's origin.
    pub(crate) const fn new(since_origin: Duration) -> Self {
        Self(since_origin)
    }

    /// The time since the clock's origin.
    pub(crate) const fn since_origin(self) -> Duration {
        self.0
    }

    /// The time from `self` until `later`, zero if that has passed.
    pub(crate) const fn until(self, later: Instant) -> Duration {
        later.0.saturating_sub(self.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span))
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}s", self.0.as_secs_f64())
    }
}
