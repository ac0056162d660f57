//! Locks between processes that are killed while they hold one.

use std::time::Duration;

use simba_processes::{Counter, now};
use tokio::time::sleep;

use crate::{
    crew::Crew,
    dice::Dice,
    scratch::Scratch,
    storage::{Storage, on},
};

const LEASE: Duration = Duration::from_secs(1);
const RUN: Duration = Duration::from_secs(20);
const KILL_EVERY: Duration = Duration::from_millis(300);

on!([sqlite] [
    a_counter_under_a_lock_misses_no_increment_of_processes_killed_at_random,
    a_lock_whose_process_exits_is_free_within_a_lease,
]);

async fn a_counter_under_a_lock_misses_no_increment_of_processes_killed_at_random(storage: Storage) {
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers(&scratch, LEASE);
    for _ in 0..5 {
        crew.join(&storage.url(), &["count"]).await;
    }
    let (mut dice, end) = (Dice::new(), now() + RUN);
    while now() < end {
        let victim = dice.pick(&crew.pids());
        crew.kill(victim).await;
        crew.join(&storage.url(), &["count"]).await;
        sleep(KILL_EVERY).await;
    }
    crew.close().await;

    let tally = Counter::open(scratch.directory()).await.unwrap().tally().await.unwrap();
    println!("{} increments", tally.value);
    let expected: Vec<i64> = (1..=tally.value).collect();
    assert_eq!(tally.increments, expected, "an increment was lost");
    assert!(tally.value >= 20, "too few increments to prove anything: {}", tally.value);
}

async fn a_lock_whose_process_exits_is_free_within_a_lease(storage: Storage) {
    let (scratch, lease) = (Scratch::new(), LEASE * 3);
    let mut crew = Crew::of_workers(&scratch, lease);
    let first = crew.join(&storage.url(), &["hold"]).await;
    let held = crew.hears(first, "held").await;
    let second = crew.join(&storage.url(), &["hold"]).await;

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
    crew.close_one(second).await;
}
