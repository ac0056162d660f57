//! Simba's engine under a simulated backend, wire and clock.
//!
//! One thread, no runtime, no real time: a seed says everything, and says it again. Each run has a
//! safety phase, in which nodes pause, crash and close, clocks drift and jump, messages are lost, late
//! and doubled, and a liveness phase, in which nothing of that happens. Invariants are checked at every
//! event. That the checks can see is shown by mutants, engines with one rule left out, and by premises,
//! without which the promise must break.

mod clock;
pub mod outcome;
pub mod plan;
mod rng;
mod store;
mod trace;

#[allow(dead_code, unreachable_pub, reason = "the engine's own, of which the simulation uses a part")]
#[path = "../../../simba-actors/src/engine/mod.rs"]
mod engine;
mod sim;

pub use self::{
    clock::Clock,
    outcome::{Breaks, Checked, Counts, Outcome, Violation},
    plan::{Fault, Flaw, Plan, Premise, Wire},
    rng::Rng,
    store::Store,
    trace::Trace,
};

/// Runs the engine as it is.
pub fn run(plan: &Plan, trace: &mut Trace) -> Outcome {
    sim::run(plan, trace)
}
