//! The seeds: every invariant, over many runs.
#![allow(clippy::print_stdout, reason = "a report for people")]

use std::time::{Duration, Instant};

use simba_simulation::{Counts, Outcome, Plan, Trace, run};

/// Fails with the seed, the run's last lines and the command that shows them again.
fn keeps_all(seed: u64) -> Outcome {
    let plan = Plan::new(seed);
    let outcome = run(&plan, &mut Trace::default());
    let Some(violation) = &outcome.violation else { return outcome };
    let mut trace = Trace::readable();
    run(&plan, &mut trace);
    let lines: Vec<_> = trace.lines().collect();
    panic!(
        "seed {seed}: {violation}\n{}\nseed {seed}: {violation}\nreplay: cargo run -p simba-simulation -- {seed}",
        lines.join("\n")
    );
}

/// Runs every second seed from `first` on.
fn every_second(first: u64, end: u64) -> Counts {
    let mut counts = Counts::default();
    (first..end).step_by(2).for_each(|seed| counts.add(&keeps_all(seed).counts));
    counts
}

#[test]
fn ten_thousand_seeds_of_sixty_virtual_seconds_keep_every_invariant() {
    // More for a night's run: `SIMBA_SEEDS=1000000`.
    let seeds = std::env::var("SIMBA_SEEDS").map_or(10_000, |seeds| seeds.parse().unwrap());
    #[expect(clippy::disallowed_methods, reason = "measures the simulation, takes no part in it")]
    let started = Instant::now();
    let mut counts = Counts::default();
    std::thread::scope(|scope| {
        let odd = scope.spawn(|| every_second(1, seeds));
        counts.add(&every_second(0, seeds));
        counts.add(&odd.join().unwrap());
    });
    let hours = counts.time.as_secs_f64() / 3600.0;
    let took: Duration = started.elapsed();
    println!(
        "{seeds} seeds, {hours:.1} virtual hours in {took:.1?} ({:.0} hours a second), {counts:?}",
        hours / took.as_secs_f64()
    );
}

#[test]
fn the_same_seed_gives_the_same_log() {
    let fingerprint = |seed| {
        let mut trace = Trace::default();
        run(&Plan::new(seed), &mut trace);
        trace.fingerprint()
    };
    for seed in 0..100 {
        assert_eq!(fingerprint(seed), fingerprint(seed), "seed {seed}");
    }
    assert_ne!(fingerprint(0), fingerprint(1));
}

/// Seeds that once found an engine that broke a rule. Most of what was found that way has a mutant; these
/// needed more seeds than a mutant is given.
#[test]
fn seeds_that_found_something_keep_every_invariant() {
    // A name that failed, applied or not, after a list had started and ended a term of it.
    keeps_all(85_238);
}
