//! Locks between processes that are killed while they hold one.

use std::time::Duration;

use simba_processes::{Counter, now};
use tokio::time::sleep;

use crate::{crew::Crew, dice::Dice, scratch::Scratch};

const LEASE: Duration = Duration::from_secs(1);
const RUN: Duration = Duration::from_secs(20);
const KILL_EVERY: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_counter_under_a_lock_misses_no_increment_of_processes_killed_at_random() {
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers("count", &scratch, LEASE);
    for _ in 0..5 {
        join(&mut crew).await;
    }
    let (mut dice, end) = (Dice::new(), now() + RUN);
    while now() < end {
        let victim = dice.pick(&crew.pids());
        crew.kill(victim).await;
        join(&mut crew).await;
        sleep(KILL_EVERY).await;
    }
    for pid in crew.pids() {
        crew.tell(pid, "close").await;
        crew.hears(pid, "closed").await;
        assert!(crew.ended(pid).await.success());
    }

    let tally = Counter::open(&scratch.url()).await.unwrap().tally().await.unwrap();
    println!("{} increments", tally.value);
    let expected: Vec<i64> = (1..=tally.value).collect();
    assert_eq!(tally.increments, expected, "an increment was lost");
    assert!(tally.value >= 20, "too few increments to prove anything: {}", tally.value);
}

async fn join(crew: &mut Crew) {
    let pid = crew.start();
    crew.hears(pid, "ready").await;
}

#[tokio::test]
async fn a_lock_whose_process_exits_is_free_within_a_lease() {
    let (scratch, lease) = (Scratch::new(), LEASE * 3);
    let mut crew = Crew::of_workers("hold", &scratch, lease);
    let first = crew.start();
    let held = crew.hears(first, "held").await;
    let second = crew.start();
    crew.hears(second, "ready").await;

    let exited = now();
    crew.tell(first, "exit").await;
    assert!(crew.ended(first).await.success());
    let next = crew.hears(second, "held").await;
    println!("process::exit while holding -> acquired: {} ms", (next.at - exited).as_millis());
    assert!(next.number_after("held") > held.number_after("held"));
    // Not more than what is on the way: the waiter knows when the lease runs out.
    assert!(next.at - exited <= lease + Duration::from_millis(200), "{:?}", next.at - exited);
    crew.tell(second, "release").await;
    crew.hears(second, "released").await;
    assert!(crew.ended(second).await.success());
}
