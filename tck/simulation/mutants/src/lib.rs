//! Engines with one rule left out, each under the simulation that the real one is under.
//!
//! The build script makes them from the table of mutants. They are a package of their own so that they
//! are compiled without optimization: dozens of engines optimize for minutes, and most fall to the first
//! seed.

use simba_simulation::{
    Breaks, Checked, Clock, Counts, Fault, Outcome, Plan, Premise, Rng, Store, Trace, Violation, outcome,
    plan,
};

/// How a plan is run.
type Run = fn(&Plan, &mut Trace) -> Outcome;

mod mutants {
    include!(concat!(env!("OUT_DIR"), "/mutants.rs"));
}

/// Runs the mutant of that name, if there is one.
pub fn run(name: &str, plan: &Plan, trace: &mut Trace) -> Option<Outcome> {
    let (_, run) = mutants::ALL.iter().find(|(mutant, _)| *mutant == name)?;
    Some(run(plan, trace))
}
