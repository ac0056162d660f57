//! What happened, in order: its last lines for people, its hash to compare two runs.

use std::{collections::VecDeque, time::Duration};

/// How many lines a failure shows.
const SHOWN: usize = 160;

#[derive(Debug)]
pub(crate) struct Trace {
    lines: VecDeque<String>,
    count: u64,
    hash: u64,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self { lines: VecDeque::new(), count: 0, hash: 0xcbf2_9ce4_8422_2325 }
    }

    pub(crate) fn line(&mut self, at: Duration, text: &str) {
        let line = format!("{:>9.3} {text}", at.as_secs_f64());
        // FNV-1a.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.hash = line.bytes().fold(self.hash, step);
        self.count += 1;
        if self.lines.len() == SHOWN {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub(crate) fn digest(&self) -> (u64, u64) {
        (self.count, self.hash)
    }

    pub(crate) fn tail(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
