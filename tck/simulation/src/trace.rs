//! The log of one run: a fingerprint always, the newest lines when somebody wants to read them.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

/// How many lines are kept for the reader.
const LINES: usize = 60;

/// What happened, in order.
#[derive(Debug, Default)]
pub struct Trace {
    fingerprint: DefaultHasher,
    lines: VecDeque<String>,
    readable: bool,
}

impl Trace {
    /// A log that keeps its newest lines; slower by far.
    pub fn readable() -> Self {
        Self { readable: true, ..Self::default() }
    }

    /// Notes what happened, and the line that tells it.
    pub fn note(&mut self, at: Duration, what: &impl Hash, line: impl FnOnce() -> String) {
        at.hash(&mut self.fingerprint);
        what.hash(&mut self.fingerprint);
        if self.readable {
            if self.lines.len() == LINES {
                self.lines.pop_front();
            }
            self.lines.push_back(format!("{:10.6} {}", at.as_secs_f64(), line()));
        }
    }

    /// Equal for equal logs (I16).
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint.finish()
    }

    /// The newest lines.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }
}
