//! R9-R11 and R20: opened, kept alive, suspended, expired; and clocks that step.

use std::time::Duration;

use simba_backends::{Acquired, Acquisition, KeepAlive};

use super::{
    bench::{answers, listed},
    *,
};
use crate::engine::{Answer, Instant};

fn expired() -> Answer {
    Answer::KeptAlive(Ok(KeepAlive::Expired))
}

/// Answers the keep-alive in flight with what the storage's clock counted.
fn counted(bench: &mut Bench, millis: u64) -> Vec<String> {
    let (owned, unknown, groups) = (Vec::new(), Vec::new(), Vec::new());
    let (remaining, server_elapsed) = (TIMING.lease, Some(ms(millis)));
    let live = KeepAlive::Live { remaining, owned, unknown, groups, server_elapsed };
    bench.answer(bench.call("keep-alive"), Answer::KeptAlive(Ok(live)))
}

/// A session with one confirmed keep-alive, and the next one, sent 5 s later, in flight.
fn renewed() -> Bench {
    let mut bench = Bench::live();
    bench.pass(5_000);
    counted(&mut bench, 5_000);
    bench.pass(5_000);
    bench
}

#[test]
fn r09_one_keep_alive_is_in_flight() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.contend("a");
    bench.fail("acquire", lost());
    assert_eq!(bench.in_flight(), ["keep-alive"]);
    bench.pass(1_999);
    assert_eq!(bench.in_flight(), ["keep-alive", "acquire"]);
}

#[test]
fn r09_an_abandoned_keep_alives_answer_is_dropped() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    let late = bench.call("keep-alive");
    assert_eq!(bench.pass(2_000), ["abandon", "renew failed 1", "suspended 7800"]);
    assert_eq!(bench.answer(late, listed(&[("a", 7)])), [""; 0]);
    assert_eq!(bench.answer(late, expired()), [""; 0]);
    assert_eq!(bench.next(), (100, "renew"));
}

#[test]
fn r09_only_a_keep_alives_own_send_counts() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    bench.pass(2_100);
    bench.pass(1_000);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["resumed", "a#7 extended until 21900"], "sent at 7,100");
}

#[test]
fn r10_every_session_has_a_fresh_id_and_the_old_one_is_closed() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    let told = bench.answer(bench.call("keep-alive"), expired());
    assert_eq!(told, ["expired s1", "call close s1", "clock step", "call open"]);
    assert_eq!(bench.opened(), ["opened s2"]);
    assert_eq!(bench.pass(5_000).last().unwrap(), "call keep-alive s2");
}

#[test]
fn r10_the_calls_of_an_expired_session_are_abandoned() {
    let mut bench = Bench::leading();
    bench.stop("a");
    bench.handed_over("a", 7);
    bench.contend("b");
    bench.pass(1_000);
    let told = bench.answer(bench.call("acquire"), Answer::Acquired(Ok(Acquired::Expired)));
    assert_eq!(told.iter().filter(|line| *line == "abandon").count(), 1, "the release");
    assert_eq!(bench.in_flight()[0], "close");
}

#[test]
fn r11_an_expired_answer_ends_all_terms_and_elections_contend_anew() {
    let mut bench = Bench::leading();
    bench.lock("b");
    bench.acquired("b", granted(3));
    bench.pass(5_000);
    let told = bench.answer(bench.call("keep-alive"), expired());
    assert_eq!(told[1..3], ["a#7 ended: session_expired", "b#3 ended: session_expired"]);
    assert_eq!(bench.opened(), ["opened s2", "call acquire a"], "the lock is lost for good");
}

#[test]
fn r11_a_lock_that_waits_goes_on_waiting_under_the_next_session() {
    let mut bench = Bench::live();
    bench.lock("a");
    bench.answer(bench.call("acquire"), Answer::Acquired(Ok(Acquired::Expired)));
    bench.pass(100);
    assert_eq!(bench.opened(), ["opened s2", "call acquire a"]);
    assert_eq!(bench.acquired("a", granted(7)).len(), 1);
}

#[test]
fn r11_an_outage_of_half_a_lease_revokes_nothing() {
    let mut bench = Bench::leading();
    let mut told = bench.pass(5_000);
    for _ in 0..10 {
        if bench.now_millis() < 12_500 {
            told.extend(bench.fail("keep-alive", refused()));
            told.extend(bench.pass_to_next());
        }
    }
    assert!(told.iter().all(|line| !line.contains(" ended")), "{told:?}");
    assert!(bench.kept_alive(&[("a", 7)])[0] == "resumed");
}

#[test]
fn r11_past_the_deadline_the_session_is_kept_and_the_lease_is_acquired_anew() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    bench.fail("keep-alive", refused());
    bench.stall(9_800);
    assert_eq!(bench.tick(), ["call keep-alive s1", "a#7 ended: deadline", "call release a#7"]);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["resumed"]);
    assert_eq!(bench.released(), ["a#7 released", "call acquire a"]);
    assert_eq!(bench.acquired("a", granted(8)), ["a#8 started until 29600"]);
}

#[test]
fn r11_a_lock_past_its_deadline_is_released_and_not_acquired_anew() {
    let mut bench = Bench::live();
    bench.lock("a");
    bench.acquired("a", granted(7));
    bench.stall(14_800);
    assert_eq!(bench.tick().last().unwrap(), "call release a#7");
    assert_eq!(bench.released(), ["a#7 released"]);
    assert_eq!(bench.in_flight(), ["keep-alive"]);
}

#[test]
fn r11_only_confirmed_sends_count_for_the_age_of_the_session() {
    let mut bench = Bench::live();
    for _ in 0..100 {
        if bench.next().1 == "session lost" {
            break;
        }
        bench.pass_to_next();
        if bench.in_flight().contains(&"keep-alive") {
            bench.fail("keep-alive", lost());
        }
    }
    assert_eq!(bench.engine.deadline().unwrap().0, Instant::new(ms(15_000)));
}

#[test]
fn r20_a_storage_clock_in_step_raises_nothing() {
    let mut bench = renewed();
    assert_eq!(counted(&mut bench, 5_000), [""; 0]);
}

#[test]
fn r20_a_storage_clock_that_steps_either_way_raises_an_alarm() {
    for counted_by_it in [5_000 + 3_600_000, 5_151, 4_849, 0] {
        let mut bench = renewed();
        assert_eq!(counted(&mut bench, counted_by_it), ["clock step"], "{counted_by_it}");
    }
}

/// An hour ahead, no keep-alive finds its session alive.
#[test]
fn r20_a_session_that_expires_while_it_is_certain_to_live_raises_an_alarm() {
    for (passes, alarm) in [(889, true), (890, false)] {
        let mut bench = Bench::live();
        bench.pass(5_000);
        let (owned, unknown, groups) = (Vec::new(), Vec::new(), Vec::new());
        let live =
            KeepAlive::Live { remaining: ms(6_000), owned, unknown, groups, server_elapsed: Some(ms(5_000)) };
        bench.answer(bench.call("keep-alive"), Answer::KeptAlive(Ok(live)));
        bench.pass(5_000);
        bench.pass(passes);
        let told = bench.answer(bench.call("keep-alive"), expired());
        assert_eq!(told.contains(&"clock step".to_owned()), alarm, "{passes}: {told:?}");
    }
}

#[test]
fn r20_drift_and_both_round_trips_are_allowed_for() {
    for counted_by_it in [5_150, 4_850] {
        let mut bench = renewed();
        assert_eq!(counted(&mut bench, counted_by_it), [""; 0], "{counted_by_it}");
    }
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.pass(700);
    counted(&mut bench, 5_700);
    bench.pass(4_300);
    bench.pass(300);
    assert_eq!(counted(&mut bench, 5_000 + 700 + 300 + 150), [""; 0]);
}

#[test]
fn r20_no_false_alarm_after_a_lost_keep_alive() {
    let mut bench = renewed();
    bench.pass(2_000);
    bench.pass(100);
    assert_eq!(counted(&mut bench, 2_100), ["resumed"], "the lost one renewed the session all the same");
    bench.pass(5_000);
    assert_eq!(counted(&mut bench, 5_000), [""; 0]);
}

#[test]
fn r20_an_alarm_that_lasts_is_told_once() {
    let mut bench = renewed();
    counted(&mut bench, 60_000);
    bench.pass(5_000);
    assert_eq!(counted(&mut bench, 60_000), [""; 0]);
    bench.pass(5_000);
    counted(&mut bench, 5_000);
    bench.pass(5_000);
    assert_eq!(counted(&mut bench, 60_000), ["clock step"]);
}

#[test]
fn r20_a_lease_free_later_than_any_holder_could_make_it_raises_an_alarm() {
    for (free_in, alarm) in [(15_250, false), (15_251, true), (3_600_000, true)] {
        let mut bench = Bench::live();
        bench.contend("a");
        let told = bench.acquired("a", held_for(free_in));
        assert_eq!(told[0] == "clock step", alarm, "{free_in}: {told:?}");
    }
}

#[test]
fn r20_a_lease_that_stays_too_long_is_told_once_whatever_the_keep_alives_say() {
    let mut bench = Bench::live();
    bench.contend("a");
    assert_eq!(bench.acquired("a", held_for(60_000))[0], "clock step");
    for _ in 0..3 {
        bench.pass(5_000);
        counted(&mut bench, 5_000);
        if bench.in_flight().contains(&"acquire") {
            let told = bench.acquired("a", held_for(60_000));
            assert!(!told.contains(&"clock step".to_owned()), "{told:?}");
        }
    }
}

#[test]
fn an_open_that_fails_is_tried_again_at_a_doubling_pace() {
    let mut bench = Bench::new();
    for (failures, pause) in [(1, 100), (2, 200), (3, 400), (4, 800), (5, 1_600), (6, 3_200), (7, 5_000)] {
        assert_eq!(bench.fail("open", refused()), [format!("open failed {failures}")]);
        assert_eq!(bench.next(), (pause, "open"));
        assert_eq!(bench.pass(pause), ["call open"]);
    }
}

#[test]
fn a_session_that_opens_after_its_open_was_given_up_is_closed() {
    let mut bench = Bench::new();
    let late = bench.call("open");
    bench.pass(2_100);
    let opened = bench.fresh_session();
    assert_eq!(bench.answer(late, opened), ["call close s1"]);
    assert_eq!(bench.opened(), ["opened s2"]);
}

#[test]
fn what_is_wanted_before_the_session_opens_is_asked_for_when_it_does() {
    let mut bench = Bench::new();
    assert_eq!(bench.contend("a"), [""; 0]);
    assert_eq!(bench.opened(), ["opened s1", "call acquire a"]);
    let short = Acquisition::Granted { token: token(7), remaining: Duration::ZERO };
    assert_eq!(bench.answer(bench.call("acquire"), answers([("a", short)])), ["call release a#7"]);
}

#[test]
fn r11_a_process_stopped_for_longer_than_a_lease_does_not_ask_about_its_session() {
    let mut bench = Bench::leading();
    bench.stall(30_000);
    let told = bench.tick();
    assert_eq!(told, ["a#7 ended: deadline", "expired s1", "call close s1", "call open"]);
    assert_eq!(bench.opened(), ["opened s2", "call acquire a"]);
}

#[test]
fn keep_alives_are_paced_from_the_last_send_and_skipped_after_a_stall() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    bench.pass(1_000);
    bench.kept_alive(&[]);
    assert_eq!(bench.next(), (4_000, "renew"));
    bench.stall(13_000);
    assert_eq!(bench.tick(), ["call keep-alive s1"], "one, not three");
    bench.kept_alive(&[]);
    assert_eq!(bench.next(), (5_000, "renew"));
}

#[test]
fn r12_a_storage_that_says_expired_to_each_fresh_session_is_not_flooded_with_opens() {
    let mut bench = Bench::live();
    bench.contend("a");
    for _ in 0..3 {
        bench.answer(bench.call("acquire"), Answer::Acquired(Ok(Acquired::Expired)));
        assert_eq!(bench.next(), (100, "open"));
        bench.pass(100);
        bench.opened();
    }
}
