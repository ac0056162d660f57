//! Replays one seed and shows its last lines: `cargo run -p simba-simulation -- 123 [mutant]`.
#![allow(clippy::print_stdout, reason = "it is a program for people")]

use simba_simulation::{Plan, Trace, run, run_mutant};

fn main() {
    let mut args = std::env::args().skip(1);
    let seed = args.next().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let plan = Plan::new(seed);
    let mut trace = Trace::readable();
    let outcome = match args.next() {
        Some(name) => run_mutant(&name, &plan, &mut trace).expect("a mutant's name"),
        None => run(&plan, &mut trace),
    };
    trace.lines().for_each(|line| println!("{line}"));
    println!("{outcome:?}");
}
