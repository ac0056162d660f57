//! How often a candidate tries, and a session is kept alive (design 4).

use super::*;

/// When the candidate that `bench` made wait tries again, in milliseconds.
fn tries_in(bench: &Bench) -> u64 {
    let (pause, what) = bench.next();
    assert_eq!(what, "retry");
    pause
}

#[test]
fn an_answered_attempt_ends_the_row_of_failures() {
    let mut bench = Bench::live();
    bench.contend("a");
    for _ in 0..3 {
        bench.fail("acquire", refused());
        bench.pass_to_next();
    }
    bench.acquired("a", held());
    bench.hint("a", None);
    bench.fail("acquire", refused());
    assert!((100..=200).contains(&tries_in(&bench)), "{}", tries_in(&bench));
}

#[test]
fn a_hint_during_an_attempt_calls_for_another() {
    let mut bench = Bench::live();
    bench.contend("a");
    bench.hint("a", None);
    assert_eq!(bench.acquired("a", held()), ["a refused", "watch a", "call acquire a"]);
}

#[test]
fn a_hint_during_an_attempt_spreads_the_next_one_as_any_hint_does() {
    let mut pauses = Vec::new();
    for chance in 0..20 {
        let mut bench = Bench::live();
        bench.contend("a");
        bench.chance = chance;
        bench.hint("a", Some(41));
        bench.acquired("a", held());
        pauses.push(if bench.in_flight().is_empty() { tries_in(&bench) } else { 0 });
    }
    assert!(pauses.iter().all(|pause| *pause < 1_000), "{pauses:?}");
    assert!(pauses.iter().any(|pause| *pause > 500), "{pauses:?}");
}
