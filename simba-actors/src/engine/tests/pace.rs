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
