//! Replays one seed and shows its last lines: `cargo run -p simba-simulation -- 123 [lost-writes]`.
#![allow(clippy::print_stdout, reason = "it is a program for people")]

use simba_simulation::{Plan, Premise, Trace, run};

fn main() {
    let mut args = std::env::args().skip(1);
    let seed = args.next().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let plan = match args.next().as_deref() {
        None => Plan::new(seed),
        Some("clock-rate") => Plan::new(seed).without(Premise::ClockRate),
        Some("clock-step") => Plan::new(seed).without(Premise::ClockStep),
        Some("lost-writes") => Plan::new(seed).without(Premise::LostWrites),
        Some(other) => panic!("{other} is none of clock-rate, clock-step, lost-writes"),
    };
    let mut trace = Trace::readable();
    let outcome = run(&plan, &mut trace);
    trace.lines().for_each(|line| println!("{line}"));
    println!("{outcome:?}");
}
