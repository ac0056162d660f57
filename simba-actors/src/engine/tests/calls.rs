//! R12 and R22: every call has a time-out; names travel together and wait for one call at most.

use simba_backends::{Acquisition, Hint};

use super::{bench::answers, *};
use crate::engine::{Goal, Input};

#[test]
fn r12_every_call_is_given_up_after_its_time_out_and_tried_again() {
    let mut bench = Bench::new();
    assert_eq!(bench.pass(2_000), ["open failed 1"], "its answer is still listened to");
    bench.pass(100);
    bench.opened();
    bench.contend("a");
    assert_eq!(bench.pass(2_000)[..2], ["abandon", "a failed"]);
    bench.kept_alive(&[("a", 7)]);
    bench.stop("a");
    bench.handed_over("a", 7);
    assert_eq!(bench.pass(2_000), ["abandon"]);
    assert_eq!(bench.pass(100), ["call release a#7"]);
}

#[test]
fn r12_names_that_become_due_during_a_call_travel_together_in_the_next() {
    let mut bench = Bench::live();
    assert_eq!(bench.contend("a"), ["call acquire a"]);
    for lease in ["d", "b", "c"] {
        assert_eq!(bench.contend(lease), [""; 0]);
    }
    assert_eq!(
        bench.acquired("a", held()),
        ["a refused", "watch a", "call acquire d b c"],
        "in the order in which they became due"
    );
}

#[test]
fn r12_a_name_withdrawn_before_its_call_does_not_travel() {
    let mut bench = Bench::live();
    bench.contend("a");
    bench.contend("b");
    bench.contend("c");
    assert_eq!(bench.stop("b"), ["b settled"]);
    assert_eq!(bench.acquired("a", held()).last().unwrap(), "call acquire c");
}

#[test]
fn r12_a_call_carries_at_most_a_thousand_names() {
    let mut bench = Bench::new();
    let names: Vec<_> = (0..1_500).map(|n| format!("n{n}")).collect();
    for lease in &names {
        bench.step(Input::Contend { name: name(lease), goal: Goal::Terms });
    }
    assert_eq!(bench.opened(), ["opened s1", "call acquire 1000 names"]);
    let all = names[..1_000].iter().zip(1..).map(|(lease, n)| (lease.as_str(), granted(n)));
    let told = bench.answer(bench.call("acquire"), answers(all));
    assert_eq!(told.last().unwrap(), "call acquire 500 names");
    assert_eq!(told.len(), 1_001);
}

#[test]
fn r12_releases_travel_together_too() {
    let mut bench = Bench::live();
    bench.pass(5_000);
    let names: Vec<_> = (0..1_500).map(|n| format!("n{n}")).collect();
    let all: Vec<_> = names.iter().map(|lease| (lease.as_str(), 7)).collect();
    assert_eq!(bench.kept_alive(&all), ["call release 1000 leases"]);
    assert_eq!(bench.released().last().unwrap(), "call release 500 leases");
}

#[test]
fn r22_one_names_trouble_leaves_the_others_of_its_call_alone() {
    let mut bench = Bench::new();
    for lease in ["a", "b", "c"] {
        bench.contend(lease);
    }
    bench.opened();
    let (trouble, b) = (Acquisition::Failed(refused()), granted(3));
    let told = bench.answer(bench.call("acquire"), answers([("a", trouble), ("b", b), ("c", held())]));
    assert_eq!(told, ["a failed", "watch a", "b#3 started until 14800", "c refused", "watch c"]);
}

#[test]
fn r22_a_call_that_hangs_delays_another_name_by_its_time_out_at_most() {
    let mut bench = Bench::live();
    bench.contend("a");
    bench.contend("b");
    let told = bench.pass(2_000);
    assert_eq!(told.last().unwrap(), "call acquire b");
}

#[test]
fn r22_a_release_that_hangs_delays_no_attempt() {
    let mut bench = Bench::leading();
    bench.stop("a");
    bench.handed_over("a", 7);
    assert_eq!(bench.contend("b"), ["call acquire b"]);
}

#[test]
fn of_timers_due_at_once_deadlines_fire_before_anything_that_might_extend() {
    let mut bench = Bench::leading();
    bench.contend("b");
    bench.acquired("b", granted(3));
    bench.stop("b");
    bench.pass(12_800 - 5_000);
    bench.stall(7_000);
    let told = bench.tick();
    let at = |line: &str| told.iter().position(|told| told == line).unwrap_or_else(|| panic!("{told:?}"));
    assert!(at("a#7 ended: deadline") < at("b#3 overdue"));
    assert!(at("b#3 overdue") < at("b unsettled"));
}

#[test]
fn steps_never_go_back_in_time() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    let mut earlier = bench.clone();
    earlier.set_back(3_000);
    assert_eq!(earlier.kept_alive(&[("a", 7)]), bench.kept_alive(&[("a", 7)]));
}

#[test]
fn members_of_groups_are_no_business_of_leases() {
    let mut bench = Bench::waiting();
    assert_eq!(bench.step(Input::Hint(Hint::Members("g".parse().unwrap()))), [""; 0]);
}

#[test]
fn r12_an_answer_that_is_here_after_a_stall_is_not_abandoned() {
    let mut bench = Bench::leading();
    bench.pass(5_000);
    bench.stall(4_950);
    assert_eq!(bench.kept_alive(&[("a", 7)]), ["a#7 extended until 19800"]);
}

#[test]
fn r11_a_black_hole_of_half_a_lease_revokes_nothing() {
    let mut bench = Bench::with(Timing { call_timeout: ms(5_000), ..TIMING });
    bench.opened();
    bench.contend("a");
    bench.acquired("a", granted(7));
    let during = bench.pass(12_500);
    assert!(!during.iter().any(|told| told.contains("deadline")), "{during:?}");
    let after = bench.pass(1_000);
    assert!(after.contains(&"call keep-alive s1".to_owned()), "asked again before the deadline: {after:?}");
}

#[test]
fn r12_a_session_that_may_be_at_its_end_is_asked_for_nothing() {
    let mut bench = Bench::leading();
    let failed = bench.pass(14_800);
    assert!(failed.contains(&"a#7 ended: deadline".to_owned()), "{failed:?}");
    assert_eq!(bench.contend("b"), [""; 0]);
    assert!(!bench.pass(100).iter().any(|told| told.contains("acquire")));
}
