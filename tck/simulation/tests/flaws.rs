//! The storage's part: a backend that breaks its contract is caught.
#![allow(clippy::print_stdout, reason = "a report for people")]

use simba_simulation::{Flaw, Plan, Trace, run};

fn flaw_caught(flaw: Flaw) {
    let caught = (0..1_000).find_map(|seed| {
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
