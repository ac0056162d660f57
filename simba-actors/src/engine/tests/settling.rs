//! R15-R17: step-down, withdrawal at any stage, and when that has settled.

use super::*;
use crate::engine::Input;

#[test]
fn r17_a_leader_that_steps_down_stays_out_and_then_contends_again() {
    let mut bench = Bench::leading();
    assert_eq!(bench.step_down("a", 45_000), ["a#7 ending: stepped_down by 14800"]);
    bench.handed_over("a", 7);
    assert_eq!(bench.released(), ["a#7 released", "a settled"]);
    for _ in 0..8 {
        assert_eq!(bench.pass(5_000), ["call keep-alive s1"]);
        bench.kept_alive(&[]);
    }
    assert_eq!(bench.pass(4_999), [""; 0]);
    assert_eq!(bench.pass(1).last().unwrap(), "call acquire a");
}

#[test]
fn r17_a_step_down_resolves_at_the_end_of_the_hand_over_at_the_latest() {
    let mut bench = Bench::leading();
    bench.step_down("a", 60_000);
    bench.handed_over("a", 7);
    bench.fail("release", refused());
    let mut told = Vec::new();
    for _ in 0..100 {
        if bench.engine.deadline().is_some_and(|(at, _)| at.since_origin() <= ms(14_800)) {
            told = bench.pass_to_next();
            for kind in ["release", "keep-alive"] {
                if bench.in_flight().contains(&kind) {
                    bench.fail(kind, refused());
                }
            }
        }
    }
    assert!(told.contains(&"a unsettled".to_owned()), "{told:?}");
    assert_eq!(bench.now_millis(), 14_800);
}

#[test]
fn r17_a_candidate_that_steps_down_stays_out_at_once() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.step_down("a", 9_000), ["unwatch a", "a settled"]);
    assert_eq!(bench.hint("a", None), [""; 0]);
    bench.pass(5_000);
    bench.kept_alive(&[]);
    assert_eq!(bench.pass(4_000), ["call acquire a"]);
}

#[test]
fn r17_a_step_down_during_an_attempt_resolves_with_its_answer() {
    let mut bench = Bench::live();
    bench.contend("a");
    assert_eq!(bench.step_down("a", 9_000), [""; 0]);
    assert_eq!(bench.acquired("a", held()), ["a refused", "a settled"]);
    bench.pass(5_000);
    bench.kept_alive(&[]);
    assert_eq!(bench.pass(4_000), ["call acquire a"]);
}

#[test]
fn r17_a_step_down_of_what_nobody_wants_is_settled() {
    assert_eq!(Bench::live().step_down("a", 1_000), ["a settled"]);
}

#[test]
fn r17_a_handler_that_fails_during_a_long_step_down_does_not_shorten_it() {
    let mut bench = Bench::leading();
    bench.step_down("a", 60_000);
    let (reason, stay_out) = (Reason::HandlerFailed, TIMING.lease);
    bench.step(Input::StandDown { name: name("a"), reason, stay_out });
    bench.handed_over("a", 7);
    bench.released();
    for _ in 0..11 {
        bench.pass(5_000);
        bench.kept_alive(&[]);
    }
    assert_eq!(bench.pass(4_999), [""; 0]);
    assert_eq!(bench.pass(1), ["call keep-alive s1", "call acquire a"]);
}

#[test]
fn r17_the_stand_down_of_a_stopped_election_does_not_bind_the_next_one() {
    let mut bench = Bench::leading();
    bench.step_down("a", 60_000);
    bench.handed_over("a", 7);
    bench.stop("a");
    bench.contend("a");
    assert_eq!(bench.released(), ["a#7 released", "a settled", "call acquire a"]);
}

#[test]
fn r16_after_a_handler_failed_the_lease_is_released_and_the_election_stays_out_for_a_lease() {
    let mut bench = Bench::leading();
    let (reason, stay_out) = (Reason::HandlerFailed, TIMING.lease);
    let told = bench.step(Input::StandDown { name: name("a"), reason, stay_out });
    assert_eq!(told, ["a#7 ending: handler_failed by 14800"]);
    assert_eq!(bench.handed_over("a", 7), ["call release a#7"]);
    bench.released();
    assert!(bench.in_flight().is_empty(), "out of it");
}

#[test]
fn r15_dropped_before_the_session_opens_it_is_never_asked_for() {
    let mut bench = Bench::new();
    bench.lock("a");
    assert_eq!(bench.stop("a"), ["a settled"]);
    assert_eq!(bench.opened(), ["opened s1"]);
}

#[test]
fn r15_dropped_during_its_attempt_nothing_is_left_after_one_keep_alive() {
    let mut bench = Bench::live();
    bench.lock("a");
    bench.stop("a");
    assert_eq!(bench.fail("acquire", lost()), ["a failed", "call keep-alive s1"]);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["call release a#7"]);
    assert_eq!(bench.released(), ["a#7 released", "a settled"]);
    assert_eq!(bench.next().1, "renew", "and nothing else");
}

#[test]
fn r15_dropped_while_it_waits_neither_timer_nor_hints_are_left() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.stop("a"), ["unwatch a", "a settled"]);
    assert_eq!(bench.next().1, "renew");
}

#[test]
fn r15_dropped_while_it_is_held_it_is_released() {
    let mut bench = Bench::leading();
    bench.stop("a");
    bench.handed_over("a", 7);
    assert_eq!(bench.released(), ["a#7 released", "a settled"]);
    assert_eq!(bench.next().1, "renew");
}

#[test]
fn r15_a_withdrawal_of_what_nobody_wants_is_settled() {
    assert_eq!(Bench::live().stop("a"), ["a settled"]);
}

#[test]
fn a_lock_asked_for_again_during_its_hand_over_follows_it() {
    let mut bench = Bench::live();
    bench.lock("a");
    bench.acquired("a", granted(7));
    bench.stop("a");
    assert_eq!(bench.lock("a"), [""; 0]);
    bench.handed_over("a", 7);
    assert_eq!(bench.released(), ["a#7 released", "a settled", "call acquire a"]);
}
