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
        bench.hint("a", Some(50));
        bench.acquired("a", held());
        pauses.push(if bench.in_flight().is_empty() { tries_in(&bench) } else { 0 });
    }
    assert!(pauses.iter().all(|pause| *pause < 2_000), "{pauses:?}");
    assert!(pauses.iter().any(|pause| *pause > 1_000), "{pauses:?}");
}

/// For how long `reach` leaves a candidate waiting, over many draws: the shortest and the longest.
fn pauses(reach: impl Fn(&mut Bench)) -> (u64, u64) {
    let of = |chance| {
        let mut bench = Bench::live();
        bench.chance = chance;
        bench.contend("a");
        reach(&mut bench);
        tries_in(&bench)
    };
    let all: Vec<_> = (0..200).map(of).collect();
    (*all.iter().min().unwrap(), *all.iter().max().unwrap())
}

#[test]
fn a_candidate_tries_again_after_half_a_renewal_and_a_jitter() {
    let (shortest, longest) = pauses(|bench| drop(bench.acquired("a", held())));
    assert!((2_500..2_600).contains(&shortest), "{shortest}");
    assert!((4_900..=5_000).contains(&longest), "{longest}");
}

#[test]
fn a_candidate_tries_again_when_the_holders_lease_may_have_run_out_if_that_is_sooner() {
    assert_eq!(pauses(|bench| drop(bench.acquired("a", held_for(1_000)))), (1_002, 1_002));
    let (shortest, longest) = pauses(|bench| drop(bench.acquired("a", held_for(14_000))));
    assert!(shortest >= 2_500 && longest <= 5_000, "{shortest} {longest}");
}

#[test]
fn a_failed_attempt_backs_off_doubling_up_to_a_renewal_with_as_much_jitter() {
    let mut bench = Bench::live();
    bench.contend("a");
    for pause in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000] {
        bench.fail("acquire", refused());
        let at = bench.now_millis();
        for _ in 0..10 {
            if !bench.in_flight().contains(&"acquire") {
                bench.pass_to_next();
                if bench.in_flight().contains(&"keep-alive") {
                    bench.kept_alive(&[]);
                }
            }
        }
        let waited = bench.now_millis() - at;
        assert!((pause..=pause * 2).contains(&waited), "{pause}: {waited}");
    }
}

#[test]
fn a_hint_calls_a_candidate_up_at_once() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.hint("a", None), ["call acquire a"]);
    assert_eq!(bench.hint("b", None), [""; 0], "nobody waits for it");
}

#[test]
fn a_gap_in_the_hints_calls_all_candidates_up() {
    let mut bench = Bench::waiting();
    bench.contend("b");
    bench.acquired("b", held());
    assert_eq!(bench.gap(), ["call acquire a b"]);
}

#[test]
fn a_hint_never_delays_an_attempt() {
    let mut bench = Bench::waiting();
    let before = tries_in(&bench);
    bench.hint("a", Some(10_000));
    assert!(tries_in(&bench) <= before);
}

#[test]
fn many_waiters_that_were_counted_spread_over_so_much_each() {
    let (shortest, longest) = pauses(|bench| {
        bench.acquired("a", held());
        bench.hint("a", Some(50));
    });
    assert!(shortest < 40 && (1_960..2_000).contains(&longest), "{shortest} {longest}");
}

#[test]
fn a_later_hint_draws_anew() {
    let (shortest, longest) = pauses(|bench| {
        bench.acquired("a", held());
        for _ in 0..20 {
            bench.hint("a", Some(50));
            bench.chance += 1;
        }
    });
    assert!(shortest < 40 && longest > 1_900, "twenty calls do not add up: {shortest} {longest}");
}

#[test]
fn few_waiters_that_were_counted_all_ask_at_once() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.hint("a", Some(32)), ["call acquire a"]);
}

#[test]
fn all_hints_lost_cost_latency_only() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.pass(5_000)[0], "call acquire a");
}

/// The longest pause after a hint, for a candidate that has lost so many races and then won so many.
fn window(lost: u32, won: u64) -> u64 {
    let mut bench = Bench::waiting();
    for _ in 0..lost {
        bench.hint("a", None);
        for _ in 0..100 {
            if !bench.in_flight().contains(&"acquire") {
                bench.pass_to_next();
                if bench.in_flight().contains(&"keep-alive") {
                    bench.kept_alive(&[]);
                }
            }
        }
        bench.acquired("a", held());
    }
    for round in 0..won {
        bench.hint("a", None);
        if !bench.in_flight().contains(&"acquire") {
            bench.pass_to_next();
        }
        bench.acquired("a", granted(1 + round));
        bench.lapsed("a", 1 + round);
        bench.released();
        bench.acquired("a", held());
    }
    let longest = (0..200).map(|chance| {
        let mut bench = bench.clone();
        bench.chance = chance;
        bench.hint("a", None);
        if bench.in_flight().contains(&"acquire") { 0 } else { bench.next().0 }
    });
    longest.max().unwrap()
}

#[test]
fn the_window_doubles_with_each_lost_race_and_halves_with_each_won_one() {
    let near = |found: u64, window: u64| assert!((window * 9 / 10 - 1..=window).contains(&found), "{found}");
    assert_eq!(window(0, 0), 0);
    near(window(1, 0), 5);
    near(window(2, 0), 10);
    near(window(6, 0), 160);
    near(window(6, 2), 40);
    near(window(20, 0), 2_500);
}
