//! The premises: without each of them the promise breaks, and the engine does what it can.
#![allow(clippy::print_stdout, reason = "a report for people")]

use std::collections::BTreeSet;

use simba_simulation::{Counts, Plan, Premise, Trace, run};

/// What was shown over some seeds. Conduct needs no premise: it never breaks.
fn without(premise: Premise) -> (BTreeSet<&'static str>, Counts) {
    let (mut shown, mut counts) = (BTreeSet::new(), Counts::default());
    for seed in 0..500 {
        let outcome = run(&Plan::new(seed).without(premise), &mut Trace::default());
        if let Some(violation) = outcome.violation {
            let mut trace = Trace::readable();
            run(&Plan::new(seed).without(premise), &mut trace);
            let lines: Vec<_> = trace.lines().collect();
            panic!("{}\nseed {seed} without {premise:?}: {violation}", lines.join("\n"));
        }
        shown.extend(outcome.shown);
        counts.add(&outcome.counts);
    }
    println!("without {premise:?}: {shown:?}, {counts:?}");
    (shown, counts)
}

#[test]
fn with_a_clock_beyond_drift_two_terms_are_valid() {
    let (shown, _) = without(Premise::ClockRate);
    assert!(shown.contains("I2"), "{shown:?}");
}

#[test]
fn with_a_backend_clock_that_steps_two_terms_are_valid_and_the_alarm_is_raised() {
    let (shown, counts) = without(Premise::ClockStep);
    assert!(shown.contains("I2"), "{shown:?}");
    assert!(counts.clock_alarms > 0);
}

#[test]
fn with_lost_writes_tokens_regress_and_the_alarm_precedes_the_term() {
    let (shown, counts) = without(Premise::LostWrites);
    assert!(shown.contains("I2") && shown.contains("I3") && shown.contains("I4"), "{shown:?}");
    assert!(counts.token_alarms > 0);
}
