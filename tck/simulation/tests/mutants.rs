//! The power of the seeds: each engine with one rule left out is caught, and so is each backend that
//! breaks its contract.
#![allow(clippy::print_stdout, reason = "a report for people")]

use simba_simulation::{Flaw, Plan, Premise, Trace, run, run_mutant};

include!("../mutants.rs");

/// So many seeds must do; most mutants need fewer than ten.
const SEEDS: u64 = 4_000;

fn caught(name: &str) {
    std::panic::set_hook(Box::new(|_| {}));
    let mutant = MUTANTS.iter().find(|mutant| mutant.name == name).unwrap();
    let caught = (0..SEEDS).find_map(|seed| {
        let plan = match mutant.runs {
            Runs::AsPlanned => Plan::new(seed),
            Runs::LostWrites => Plan::new(seed).without(Premise::LostWrites),
            Runs::ClockStep => Plan::new(seed).without(Premise::ClockStep),
        };
        let violation = run_mutant(name, &plan, &mut Trace::default()).unwrap().violation?;
        let what: String = violation.to_string().chars().take(120).collect();
        Some((seed, what))
    });
    drop(std::panic::take_hook());
    let Some((seed, what)) = caught else { panic!("{} survives: {}", mutant.rule, mutant.without) };
    println!("{:12} {name}: seed {seed}, {what}", mutant.rule);
}

include!(concat!(env!("OUT_DIR"), "/mutant_tests.rs"));

fn flaw_caught(flaw: Flaw) {
    let caught = (0..SEEDS).find_map(|seed| {
        let violation = run(&Plan::new(seed).flawed(flaw), &mut Trace::default()).violation?;
        Some((seed, violation))
    });
    let (seed, violation) = caught.unwrap_or_else(|| panic!("{flaw:?} survives"));
    println!("{flaw:?}: seed {seed}, {violation}");
}

#[test]
fn a_backend_that_reuses_session_ids_is_caught() {
    flaw_caught(Flaw::ReusedIds);
}

#[test]
fn a_backend_whose_keep_alive_shortens_the_expiry_is_caught() {
    flaw_caught(Flaw::ShorteningKeepAlive);
}

#[test]
fn a_backend_that_releases_without_the_token_is_caught() {
    flaw_caught(Flaw::ReleaseByName);
}
