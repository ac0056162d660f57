//! R1-R5: how a term starts, lasts and ends.

use simba_backends::{Acquisition, KeepAlive};

use super::{bench::answers, *};
use crate::engine::Answer;

#[test]
fn r01_a_term_starts_with_the_token_granted() {
    let mut bench = Bench::live();
    assert_eq!(bench.contend("a"), ["call acquire a"]);
    assert_eq!(bench.acquired("a", granted(7)), ["a#7 started until 14800"]);
}

#[test]
fn r01_a_term_that_ran_out_locally_never_comes_back() {
    let mut bench = Bench::leading();
    bench.stall(14_800);
    assert_eq!(bench.tick()[..2], ["call keep-alive s1", "a#7 ended: deadline"]);
    assert_eq!(bench.kept_alive(&[("a", 7)]), [""; 0], "its release is pending already");
    assert_eq!(bench.released(), ["a#7 released", "call acquire a"]);
    assert_eq!(bench.acquired("a", already(7)), ["call release a#7"]);
    bench.released();
    assert_eq!(bench.acquired("a", granted(8)), ["a#8 started until 29600"]);
}

#[test]
fn r01_a_released_token_starts_no_second_term() {
    let mut bench = Bench::leading();
    bench.stop("a");
    assert_eq!(bench.handed_over("a", 7), ["call release a#7"]);
    assert_eq!(bench.released(), ["a#7 released", "a settled"]);
    bench.contend("a");
    assert_eq!(bench.acquired("a", already(7)), ["call release a#7"]);
}

#[test]
fn r01_the_floor_outlives_the_session() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    bench.answer(bench.call("keep-alive"), Answer::KeptAlive(Ok(KeepAlive::Expired)));
    bench.opened();
    bench.acquired("a", held());
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[("a", 7)]).last().unwrap(), "call release a#7");
}

#[test]
fn r01_a_token_whose_release_was_decided_without_a_term_is_below_the_floor() {
    let mut bench = Bench::live();
    bench.contend("a");
    bench.stop("a");
    assert_eq!(bench.acquired("a", granted(7)), ["call release a#7"]);
    assert_eq!(bench.contend("a"), [""; 0]);
    assert_eq!(bench.released(), ["a#7 released", "a settled", "call acquire a"]);
    assert_eq!(bench.acquired("a", already(7)), ["call release a#7"]);
}

#[test]
fn r02_renewal_answered_in_time_extends() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    bench.pass(1_000);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["a#7 extended until 19800"]);
    assert!(!bench.pass(13_799).contains(&"a#7 ended: deadline".to_owned()));
    assert!(bench.pass(1).contains(&"a#7 ended: deadline".to_owned()));
}

#[test]
fn r02_renewal_answered_late_extends_nothing() {
    let mut bench = Bench::with(Timing { call_timeout: ms(5_000), ..TIMING });
    bench.opened();
    bench.contend("a");
    bench.acquired("a", granted(7));
    bench.stall(10_000);
    assert_eq!(bench.tick(), ["call keep-alive s1"]);
    bench.stall(4_800);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["a#7 ended: deadline", "call release a#7"]);
}

#[test]
fn r02_the_deadline_is_counted_from_the_send_not_the_answer() {
    let mut bench = Bench::live();
    bench.contend("a");
    bench.pass(1_500);
    assert_eq!(bench.acquired("a", granted(7)), ["a#7 started until 14800"]);
}

#[test]
fn r02_a_grant_whose_deadline_has_passed_starts_nothing() {
    let mut bench = Bench::live();
    bench.contend("a");
    bench.pass(1_000);
    let remaining = ms(1_050);
    assert_eq!(
        bench.acquired("a", Acquisition::Granted { token: token(7), remaining }),
        ["call release a#7"]
    );
}

#[test]
fn r02_a_storage_that_promises_more_than_a_lease_is_believed_for_a_lease() {
    let mut bench = Bench::live();
    bench.contend("a");
    let forever = Acquisition::Granted { token: token(7), remaining: Duration::MAX };
    assert_eq!(bench.acquired("a", forever), ["a#7 started until 14800"]);
    bench.contend("b");
    let held_forever = Acquisition::Held { free_in: Some(Duration::MAX) };
    assert!(bench.acquired("b", held_forever).contains(&"b refused".to_owned()));
}

#[test]
fn r02_a_shorter_answer_never_moves_the_deadline_back() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    let (owned, unknown, groups) = (vec![(name("a"), token(7))], Vec::new(), Vec::new());
    let remaining = ms(1_000);
    let short = KeepAlive::Live { remaining, owned, unknown, groups, server_elapsed: None };
    assert_eq!(bench.answer(bench.call("keep-alive"), Answer::KeptAlive(Ok(short))), [""; 0]);
    assert!(!bench.pass(9_799).contains(&"a#7 ended: deadline".to_owned()));
    assert!(bench.pass(1).contains(&"a#7 ended: deadline".to_owned()));
}

#[test]
fn r02_what_another_thread_saw_pass_is_over() {
    let mut bench = Bench::leading();
    assert_eq!(bench.lapsed("a", 7), ["a#7 ended: deadline", "call release a#7"]);
    assert_eq!(bench.lapsed("a", 7), [""; 0]);
}

#[test]
fn r02_a_lapse_of_an_older_term_ends_nothing() {
    let mut bench = Bench::leading();
    bench.lapsed("a", 7);
    bench.released();
    bench.acquired("a", granted(8));
    assert_eq!(bench.lapsed("a", 7), [""; 0]);
}

#[test]
fn r03_each_term_of_an_election_is_told_once_and_tokens_rise() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[]), ["a#7 ended: lease_lost", "call acquire a"]);
    assert_eq!(bench.acquired("a", granted(8)), ["a#8 started until 19800"]);
    assert_eq!(bench.stop("a"), ["a#8 ending: stopped by 19800"]);
    assert_eq!(bench.handed_over("a", 8), ["call release a#8"]);
    assert_eq!(bench.released(), ["a#8 released", "a settled"]);
    assert!(bench.pass(60_000).iter().all(|line| !line.starts_with('a') || line == "abandon"));
}

#[test]
fn r04_the_lease_is_released_when_the_work_has_ended() {
    let mut bench = Bench::leading();
    assert_eq!(bench.stop("a"), ["a#7 ending: stopped by 14800"]);
    bench.pass(3_000);
    assert_eq!(bench.handed_over("a", 7), ["call release a#7"]);
}

#[test]
fn r04_a_handler_that_hangs_is_waited_for_as_long_as_the_term_would_have_lasted() {
    let mut bench = Bench::leading();
    bench.stop("a");
    bench.pass(5_000);
    assert_eq!(bench.kept_alive(&[("a", 7)]), [""; 0], "frozen: extended no more");
    bench.pass(5_000);
    bench.kept_alive(&[("a", 7)]);
    assert_eq!(bench.next(), (4_800, "hand-over"));
    assert_eq!(bench.pass(4_800), ["a#7 overdue", "a unsettled", "call release a#7"]);
}

#[test]
fn r04_a_hand_over_of_another_term_releases_nothing() {
    let mut bench = Bench::leading();
    assert_eq!(bench.handed_over("a", 7), [""; 0], "it runs");
    bench.stop("a");
    assert_eq!(bench.handed_over("a", 6), [""; 0]);
}

#[test]
fn r04_a_loss_during_the_hand_over_is_no_second_end() {
    let mut bench = Bench::leading();
    bench.pass(4_999);
    bench.stop("a");
    bench.pass(1);
    assert_eq!(bench.kept_alive(&[]), ["a#7 overdue", "a settled"]);
    assert_eq!(bench.handed_over("a", 7), [""; 0]);
}

#[test]
fn r04_a_second_stop_does_not_begin_a_second_hand_over() {
    let mut bench = Bench::leading();
    bench.step_down("a", 1_000);
    assert_eq!(bench.stop("a"), [""; 0]);
    bench.handed_over("a", 7);
    assert_eq!(bench.released(), ["a#7 released", "a settled"]);
}

#[test]
fn r05_a_grant_after_the_stop_is_released_without_a_term() {
    let mut bench = Bench::live();
    bench.contend("a");
    assert_eq!(bench.stop("a"), [""; 0]);
    assert_eq!(bench.acquired("a", granted(7)), ["call release a#7"]);
    assert_eq!(bench.released(), ["a#7 released", "a settled"]);
}

#[test]
fn r05_a_grant_after_the_step_down_is_released_without_a_term() {
    let mut bench = Bench::live();
    bench.contend("a");
    bench.step_down("a", 60_000);
    assert_eq!(bench.acquired("a", granted(7)), ["call release a#7"]);
    assert_eq!(bench.released(), ["a#7 released", "a settled"]);
}

#[test]
fn r05_a_grant_after_the_time_out_is_released_when_a_list_tells_of_it() {
    let mut bench = Bench::live();
    bench.lock("a");
    let late = bench.call("acquire");
    bench.pass(1_000);
    bench.stop("a");
    assert_eq!(bench.pass(1_000), ["abandon", "a failed", "call keep-alive s1"]);
    assert_eq!(bench.answer(late, answers([("a", granted(7))])), [""; 0]);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["call release a#7"]);
    assert_eq!(bench.released(), ["a#7 released", "a settled"]);
}
