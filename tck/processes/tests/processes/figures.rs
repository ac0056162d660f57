//! Durations that were measured.

use std::{fmt, time::Duration};

#[derive(Default)]
pub(crate) struct Figures(Vec<Duration>);

impl Figures {
    pub(crate) fn add(&mut self, figure: Duration) {
        self.0.push(figure);
        self.0.sort();
    }

    pub(crate) fn max(&self) -> Duration {
        *self.0.last().expect("something was measured")
    }

    pub(crate) fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = self.0[(self.0.len() - 1) * 99 / 100].as_secs_f64() * 1e3;
        let (median, max) = (self.median().as_secs_f64() * 1e3, self.max().as_secs_f64() * 1e3);
        write!(f, "median {median:.1} ms, p99 {late:.1} ms, max {max:.1} ms of {}", self.0.len())
    }
}
