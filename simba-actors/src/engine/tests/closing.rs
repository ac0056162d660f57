//! R14: the end.

use super::*;
use crate::engine::Answer;

#[test]
fn r14_terms_are_handed_over_then_the_session_is_closed() {
    let mut bench = Bench::leading();
    assert_eq!(bench.close(), ["a#7 ending: closed by 14800"]);
    bench.pass(1_000);
    assert_eq!(bench.handed_over("a", 7), ["call close s1"], "which frees the lease");
    assert_eq!(bench.closed(), ["a settled", "closed []"]);
}

#[test]
fn r14_a_term_handed_over_early_is_released_before_the_others_end() {
    let mut bench = Bench::leading();
    bench.contend("b");
    bench.acquired("b", granted(9));
    assert_eq!(bench.close(), ["a#7 ending: closed by 14800", "b#9 ending: closed by 14800"]);
    assert_eq!(bench.handed_over("b", 9), ["call release b#9"]);
    assert_eq!(bench.released(), ["b#9 released", "b settled"]);
    assert_eq!(bench.handed_over("a", 7), ["call close s1"]);
}

#[test]
fn r14_nothing_new_is_sent() {
    let mut bench = Bench::leading();
    bench.contend("b");
    bench.acquired("b", held());
    bench.close();
    assert_eq!(bench.contend("c"), [""; 0]);
    assert_eq!(bench.hint("b", None), [""; 0]);
    assert_eq!(bench.pass(14_799), [""; 0], "no keep-alive, no attempt");
    assert_eq!(bench.pass(1), ["a#7 overdue", "a unsettled", "call close s1"]);
}

#[test]
fn r14_calls_in_flight_are_waited_for() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.contend("a");
    assert_eq!(bench.close(), [""; 0]);
    assert_eq!(bench.kept_alive(&[]), [""; 0]);
    assert_eq!(bench.acquired("a", granted(7)), ["call close s1"], "no term, no release of its own");
    assert_eq!(bench.closed(), ["a settled", "closed []"]);
}

#[test]
fn r14_calls_in_flight_are_waited_for_at_most_their_time_out() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.close();
    assert_eq!(bench.pass(2_000)[0], "abandon");
    assert_eq!(bench.in_flight(), ["close"]);
}

#[test]
fn r14_with_nothing_open_it_is_done_at_once() {
    let mut bench = Bench::new();
    bench.fail("open", refused());
    assert_eq!(bench.close(), ["closed []"]);
    assert_eq!(bench.engine.deadline(), None);
}

#[test]
fn r14_a_session_that_opens_during_the_close_is_closed() {
    let mut bench = Bench::new();
    assert_eq!(bench.close(), [""; 0]);
    assert_eq!(bench.opened(), ["opened s1", "call close s1"]);
    assert_eq!(bench.closed(), ["closed []"]);
}

#[test]
fn r14_a_session_that_opens_after_the_close_is_closed_too() {
    let mut bench = Bench::new();
    let late = bench.call("open");
    bench.close();
    assert_eq!(bench.pass(2_000).last().unwrap(), "closed []");
    let opened = bench.fresh_session();
    assert_eq!(bench.answer(late, opened), ["call close s1"]);
    assert_eq!(bench.closed(), [""; 0]);
    assert_eq!(bench.engine.deadline(), None);
}

#[test]
fn r14_a_close_that_fails_is_tried_again_and_then_says_what_is_not_free_and_until_when() {
    let mut bench = Bench::leading();
    bench.stop("a");
    bench.handed_over("a", 7);
    bench.fail("release", refused());
    assert_eq!(bench.close(), ["call close s1"]);
    assert_eq!(bench.fail("close", refused()), [""; 0]);
    assert_eq!(bench.pass(100), ["call close s1"]);
    assert_eq!(bench.pass(1_900), ["a unsettled", "closed [\"a\"] free at 17150"]);
}

#[test]
fn r14_it_resolves_within_the_last_hand_over_and_one_call() {
    let mut bench = Bench::leading();
    bench.pass(4_000);
    bench.close();
    let told = bench.pass(12_799);
    assert!(!told.contains(&"closed []".to_owned()), "{told:?}");
    assert_eq!(bench.pass(1).last().unwrap(), "closed []", "the session is more than a lease old");
}

#[test]
fn r14_a_second_close_is_fine() {
    let mut bench = Bench::leading();
    bench.close();
    assert_eq!(bench.close(), [""; 0]);
    bench.handed_over("a", 7);
    bench.closed();
    assert_eq!(bench.close(), [""; 0]);
}

#[test]
fn r14_after_the_end_nothing_happens() {
    let mut bench = Bench::live();
    bench.close();
    bench.closed();
    let quiet = [bench.contend("a"), bench.gap(), bench.pass(60_000), bench.tick()];
    assert!(quiet.iter().all(Vec::is_empty), "{quiet:?}");
}

#[test]
fn r14_a_session_that_expires_during_the_close_has_nothing_left_to_free() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    bench.close();
    let expired = Answer::KeptAlive(Ok(simba_backends::KeepAlive::Expired));
    let told = bench.answer(bench.call("keep-alive"), expired);
    assert_eq!(told, ["expired s1", "a#7 overdue", "a settled", "call close s1", "clock step"]);
    assert_eq!(bench.closed(), ["closed []"]);
}

#[test]
fn r14_a_name_whose_attempt_had_no_answer_is_not_said_to_be_free() {
    let mut bench = Bench::live();
    bench.contend("a");
    bench.close();
    assert_eq!(bench.pass(2_000), ["abandon", "a failed", "call close s1"]);
    assert_eq!(bench.pass(2_000), ["a unsettled", "closed [\"a\"] free at 19150"]);
}
