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

    fn median(&self) -> Duration {
        self.0[self.0.len() / 2]
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (median, max) = (self.median().as_millis(), self.max().as_millis());
        write!(f, "median {median} ms, max {max} ms of {}", self.0.len())
    }
}
