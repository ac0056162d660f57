//! The power of the seeds: each engine with one rule left out is caught.
#![allow(clippy::print_stdout, reason = "a report for people")]

use simba_simulation::{Plan, Premise, Trace};

include!("../table.rs");

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
        let violation = simba_simulation_mutants::run(name, &plan, &mut Trace::default()).unwrap().violation?;
        let what: String = violation.to_string().chars().take(120).collect();
        Some((seed, what))
    });
    drop(std::panic::take_hook());
    let Some((seed, what)) = caught else { panic!("{} survives: {}", mutant.rule, mutant.without) };
    println!("{:12} {name}: seed {seed}, {what}", mutant.rule);
}

include!(concat!(env!("OUT_DIR"), "/mutant_tests.rs"));
