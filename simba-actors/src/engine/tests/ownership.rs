//! R6-R8 and R19: what is owned, and what evidence counts for what.

use simba_backends::{Acquired, KeepAlive, Release};

use super::{bench::answers, bench::listed, *};
use crate::engine::Answer;

/// A keep-alive's answer that calls `a` unknown.
fn a_unknown() -> Answer {
    let (owned, unknown, groups) = (Vec::new(), vec![name("a")], Vec::new());
    let remaining = TIMING.lease;
    Answer::KeptAlive(Ok(KeepAlive::Live { remaining, owned, unknown, groups, server_elapsed: None }))
}

#[test]
fn r06_a_list_without_the_token_ends_the_term() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[("b", 7)])[0], "a#7 ended: lease_lost");
}

#[test]
fn r06_a_list_with_another_token_of_the_name_ends_the_term() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[("a", 6)])[0], "a#7 ended: lease_lost");
}

#[test]
fn r06_a_list_asked_for_before_the_grant_is_no_evidence_against_it() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.contend("a");
    bench.acquired("a", granted(7));
    assert_eq!(bench.kept_alive(&[]), [""; 0]);
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[])[0], "a#7 ended: lease_lost");
}

#[test]
fn r06_a_lease_called_unknown_is_neither_lost_nor_extended() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    assert_eq!(bench.answer(bench.call("keep-alive"), a_unknown()), [""; 0]);
    bench.pass(9_799);
    assert!(bench.pass(1).contains(&"a#7 ended: deadline".to_owned()));
}

#[test]
fn r06_a_held_answer_ends_no_term() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.contend("a");
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["a#7 started until 19800"], "the list was faster");
    assert_eq!(bench.acquired("a", held()), [""; 0]);
    assert_eq!(bench.lapsed("a", 7)[0], "a#7 ended: deadline", "it ran until now");
}

#[test]
fn r07_a_lost_grant_starts_its_term_when_the_list_tells_of_it() {
    let mut bench = Bench::live();
    bench.contend("a");
    assert_eq!(bench.fail("acquire", lost()), ["a failed", "watch a", "call keep-alive s1"]);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["unwatch a", "a#7 started until 14800"]);
    assert_eq!(bench.next().1, "renew", "and no retry is left");
}

#[test]
fn r07_what_nobody_here_wants_is_released() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[("a", 7), ("b", 9)]), ["call release a#7 b#9"]);
}

#[test]
fn r07_a_failed_release_is_tried_again_until_it_is_gone() {
    let mut bench = Bench::leading();
    bench.stop("a");
    bench.handed_over("a", 7);
    for pause in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000] {
        assert_eq!(bench.fail("release", refused()), [""; 0]);
        let told = bench.pass(pause - 1);
        assert!(!told.iter().any(|line| line.starts_with("call release")), "{pause}: {told:?}");
        assert_eq!(bench.pass(1).last().unwrap(), "call release a#7");
        if bench.in_flight().contains(&"keep-alive") {
            bench.kept_alive(&[("a", 7)]);
        }
    }
    assert_eq!(bench.released(), ["a#7 released"]);
}

#[test]
fn r07_a_release_that_was_abandoned_is_sent_again() {
    let mut bench = Bench::leading();
    bench.stop("a");
    bench.handed_over("a", 7);
    assert_eq!(bench.pass(2_000), ["abandon"]);
    assert_eq!(bench.pass(100), ["call release a#7"]);
}

#[test]
fn r07_one_name_of_a_release_failing_confirms_the_others() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.kept_alive(&[("a", 7), ("b", 9)]);
    let answer = vec![(name("a"), Release::Failed(refused())), (name("b"), Release::Gone)];
    assert_eq!(bench.answer(bench.call("release"), Answer::Released(Ok(answer))), ["b#9 released"]);
    assert_eq!(bench.pass(100), ["call release a#7"]);
}

#[test]
fn r07_the_token_held_is_nothing_new() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.contend("a");
    bench.kept_alive(&[("a", 7)]);
    assert_eq!(bench.acquired("a", granted(7)), [""; 0]);
}

#[test]
fn r07_a_newer_token_says_that_the_older_term_was_lost() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    assert_eq!(
        bench.kept_alive(&[("a", 8)]),
        ["a#7 ended: lease_lost", "a#8 started until 19800"],
        "a late attempt took it again"
    );
}

#[test]
fn r07_a_lock_wants_one_term_and_no_second_one() {
    let mut bench = Bench::live();
    bench.lock("a");
    bench.acquired("a", granted(7));
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[("a", 8)]), ["a#7 ended: lease_lost", "call release a#8"]);
}

#[test]
fn r07_one_attempt_per_name_is_in_flight() {
    let mut bench = Bench::live();
    bench.contend("a");
    assert_eq!(bench.contend("a"), [""; 0]);
    assert_eq!(bench.hint("a", None), [""; 0]);
    bench.stop("a");
    assert_eq!(bench.contend("a"), [""; 0]);
    assert_eq!(bench.in_flight(), ["acquire"]);
}

#[test]
fn r07_a_name_left_out_of_the_answer_is_in_doubt() {
    let mut bench = Bench::live();
    bench.contend("a");
    let nothing = answers([]);
    assert_eq!(bench.answer(bench.call("acquire"), nothing), ["a failed", "watch a", "call keep-alive s1"]);
}

#[test]
fn r08_an_attempt_without_answer_asks_for_a_keep_alive_out_of_turn() {
    let mut bench = Bench::live();
    bench.contend("a");
    assert_eq!(bench.pass(2_000), ["abandon", "a failed", "watch a", "call keep-alive s1"]);
}

#[test]
fn r08_an_attempt_that_certainly_failed_asks_for_none() {
    let mut bench = Bench::live();
    bench.contend("a");
    assert_eq!(bench.fail("acquire", refused()), ["a failed", "watch a"]);
}

#[test]
fn r08_a_keep_alive_in_flight_is_too_old_to_tell_so_another_follows() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.contend("a");
    bench.fail("acquire", lost());
    assert_eq!(bench.stop("a"), ["unwatch a"]);
    assert_eq!(bench.kept_alive(&[]), ["call keep-alive s1"], "and nothing is settled");
    assert_eq!(bench.kept_alive(&[]), ["a settled"]);
}

#[test]
fn r08_there_is_no_release_without_a_token() {
    let mut bench = Bench::live();
    bench.contend("a");
    bench.fail("acquire", lost());
    bench.stop("a");
    assert_eq!(bench.in_flight(), ["keep-alive"], "it asks instead");
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["call release a#7"]);
}

#[test]
fn r08_an_abandoned_attempt_that_takes_effect_much_later_is_found_and_released() {
    let mut bench = Bench::live();
    bench.lock("a");
    bench.fail("acquire", lost());
    bench.stop("a");
    assert_eq!(bench.kept_alive(&[]), ["a settled"]);
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["call release a#7"]);
}

#[test]
fn r08_keep_alives_that_fail_are_not_hurried_by_doubt() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.fail("keep-alive", refused());
    bench.contend("a");
    assert_eq!(bench.fail("acquire", lost()), ["a failed", "watch a"]);
    assert_eq!(bench.pass(100)[0], "call keep-alive s1");
}

#[test]
fn r10_answers_to_an_older_session_change_nothing() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.contend("a");
    let (renew, acquire) = (bench.call("keep-alive"), bench.call("acquire"));
    bench.pass(1_000);
    bench.answer(acquire, Answer::Acquired(Ok(Acquired::Expired)));
    bench.pass(100);
    bench.opened();
    assert_eq!(bench.answer(renew, listed(&[("a", 7)])), [""; 0]);
    assert_eq!(bench.acquired("a", granted(8)), ["a#8 started until 20900"]);
}

#[test]
fn r19_granted_at_the_floor_of_the_send_is_a_regression() {
    let mut bench = Bench::leading();
    bench.lapsed("a", 7);
    bench.released();
    assert_eq!(bench.acquired("a", granted(7)), ["a#7 regressed below 7", "a#7 started until 14800"]);
}

#[test]
fn r19_after_a_regression_the_floor_follows() {
    let mut bench = Bench::leading();
    bench.lapsed("a", 7);
    bench.released();
    assert_eq!(bench.acquired("a", granted(2))[0], "a#2 regressed below 7");
    bench.lapsed("a", 2);
    bench.released();
    assert_eq!(bench.acquired("a", granted(3)), ["a#3 started until 14800"]);
}

#[test]
fn r19_a_token_between_the_floor_of_the_send_and_todays_is_an_old_story() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.contend("a");
    bench.stop("a");
    assert_eq!(bench.kept_alive(&[("a", 8)]), ["call release a#8"]);
    assert_eq!(bench.released(), ["a#8 released"]);
    bench.contend("a");
    assert_eq!(bench.acquired("a", granted(7)), ["call release a#7"], "no regression, no term");
}

#[test]
fn r19_what_was_ours_already_is_no_regression() {
    let mut bench = Bench::leading();
    bench.lapsed("a", 7);
    bench.released();
    assert_eq!(bench.acquired("a", already(7)), ["call release a#7"]);
}

#[test]
fn r19_a_regression_that_comes_too_late_is_told_and_released() {
    let mut bench = Bench::leading();
    bench.lapsed("a", 7);
    bench.released();
    bench.stop("a");
    assert_eq!(bench.acquired("a", granted(2)), ["a#2 regressed below 7", "call release a#2"]);
}

/// A floor of 7 for `a`, which nobody wants, 4 s after the session opened.
fn released_once() -> Bench {
    let mut bench = Bench::leading();
    bench.stop("a");
    bench.handed_over("a", 7);
    bench.released();
    bench.pass(4_000);
    bench
}

#[test]
fn r07_nothing_is_asked_for_while_a_release_of_the_name_is_pending() {
    let mut bench = released_once();
    bench.contend("a");
    bench.acquired("a", held());
    bench.pass(1_000);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["call release a#7"], "it is ours, and below the floor");
    bench.fail("release", lost());
    assert_eq!(bench.hint("a", None), [""; 0]);
    assert_eq!(bench.pass(100), ["call release a#7"]);
    assert_eq!(bench.released(), ["a#7 released", "call acquire a"]);
}

#[test]
fn r07_an_attempt_that_ends_while_a_release_is_pending_waits_for_it() {
    let mut bench = released_once();
    bench.pass(1_000);
    bench.contend("a");
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["call release a#7"]);
    assert_eq!(bench.acquired("a", held()), ["a refused"]);
    assert_eq!(bench.hint("a", None), [""; 0]);
    assert_eq!(bench.released(), ["a#7 released", "call acquire a"]);
}

#[test]
fn r07_of_two_tokens_of_one_name_a_failed_one_is_not_taken_for_gone() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[("a", 7), ("a", 8)]), ["call release a#7 a#8"]);
    let answer = vec![(name("a"), Release::Gone), (name("a"), Release::Failed(refused()))];
    assert_eq!(bench.answer(bench.call("release"), Answer::Released(Ok(answer))), [""; 0]);
    assert_eq!(bench.pass(100), ["call release a#7 a#8"]);
}
