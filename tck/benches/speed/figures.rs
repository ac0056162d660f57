//! Many durations as a few.

use std::{fmt, time::Duration};

/// How long each of many took.
pub(crate) struct Figures(Vec<Duration>);

impl Figures {
    pub(crate) fn of(durations: impl IntoIterator<Item = Duration>) -> Self {
        let mut durations: Vec<_> = durations.into_iter().collect();
        durations.sort_unstable();
        Self(durations)
    }

    pub(crate) fn p50(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    fn p99(&self) -> Duration {
        self.0[self.0.len() * 99 / 100]
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p50 {:.2?}, p99 {:.2?}, max {:.2?}", self.p50(), self.p99(), self.0[self.0.len() - 1])
    }
}
