//! What a run came to.

use std::{collections::BTreeSet, fmt, time::Duration};

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant or rule: `I2`, `R4`.
    pub rule: &'static str,
    /// What was seen.
    pub what: String,
    /// Whether it is the promise that broke, which needs its premises, or the engine's conduct, which
    /// needs none.
    pub breaks: Breaks,
}

/// What a violation breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breaks {
    /// At most one valid term, tokens that rise: holds while clocks and backend do their part.
    Promise,
    /// What the engine does holds whatever the others do.
    Conduct,
}

/// What every check comes to.
pub type Checked = Result<(), Violation>;

/// Checks one rule of conduct.
///
/// # Errors
/// The violation, unless `holds`.
pub fn conduct(holds: bool, rule: &'static str, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation { rule, what: what(), breaks: Breaks::Conduct }) }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

/// What happened, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Steps of all engines.
    pub steps: u64,
    /// Terms that started.
    pub terms: u64,
    /// Terms that started on another node than the one before.
    pub hand_overs: u64,
    /// Faults of nodes and backend.
    pub faults: u64,
    /// Messages lost, late, slow or doubled.
    pub wire_faults: u64,
    /// `TokenRegressed` notices.
    pub token_alarms: u64,
    /// `ClockStep` notices.
    pub clock_alarms: u64,
    /// Virtual time.
    pub time: Duration,
}

impl Counts {
    /// Adds another run's.
    pub fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.terms += other.terms;
        self.hand_overs += other.hand_overs;
        self.faults += other.faults;
        self.wire_faults += other.wire_faults;
        self.token_alarms += other.token_alarms;
        self.clock_alarms += other.clock_alarms;
        self.time += other.time;
    }
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The violation that ended it.
    pub violation: Option<Violation>,
    /// Which invariants the missing premise broke.
    pub shown: BTreeSet<&'static str>,
    /// What happened.
    pub counts: Counts,
}
