//! The power of the simulation: each engine with one rule left out is caught.
#![allow(clippy::print_stdout, reason = "a report for people")]

use simba_simulation::{Plan, Premise, Trace};
use simba_simulation_mutants::run;

include!(concat!(env!("OUT_DIR"), "/mutant_tests.rs"));

/// So many seeds must do; most mutants fall to the first.
const SEEDS: u64 = 4_000;

fn caught(rule: &str, name: &str, without: &str) {
    // A mutant may well panic, which counts: it is told below, once.
    std::panic::set_hook(Box::new(|_| {}));
    let caught = if without.ends_with("(lost writes)") {
        by_violation(name, |seed| Plan::new(seed).without(Premise::LostWrites))
    } else if without.ends_with("(clock step)") {
        by_silence(name)
    } else {
        by_violation(name, Plan::new)
    };
    drop(std::panic::take_hook());
    let Some(how) = caught else { panic!("{rule} survives: {without}") };
    println!("{rule:4} {name}: {how}");
}

fn by_violation(name: &str, plan: impl Fn(u64) -> Plan) -> Option<String> {
    (0..SEEDS).find_map(|seed| {
        let outcome = run(name, &plan(seed), &mut Trace::default()).expect("a name of the table");
        let what: String = outcome.violation?.to_string().chars().take(120).collect();
        Some(format!("seed {seed}, {what}"))
    })
}

/// An alarm that is never raised violates nothing in a single run.
fn by_silence(name: &str) -> Option<String> {
    let alarms = |seed| {
        let plan = Plan::new(seed).without(Premise::ClockStep);
        run(name, &plan, &mut Trace::default()).expect("a name of the table").counts.clock_alarms
    };
    let silent = (0..50).map(alarms).sum::<u64>() == 0;
    silent.then(|| "no alarm in 50 runs in which the clock stepped".to_owned())
}
