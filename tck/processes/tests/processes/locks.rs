//! A lock whose holder is gone.

use std::time::Duration;

use simba_processes::now;

use crate::{
    crew::Crew,
    scene::LEASE,
    scratch::Scratch,
    storage::{Storage, on},
};

on!([sqlite, redis, redis_cluster, zookeeper][a_lock_whose_process_exits_is_free_within_a_lease]);

async fn a_lock_whose_process_exits_is_free_within_a_lease(storage: Storage) {
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers(&scratch, LEASE);
    let first = crew.join(&storage.url(), &["hold"]).await;
    let held = crew.hears(first, "held").await;
    let second = crew.join(&storage.url(), &["hold"]).await;

    let exited = now();
    crew.tell(first, "exit").await;
    assert!(crew.ended(first).await.success());
    let next = crew.hears(second, "held").await;
    println!("process::exit while holding -> acquired: {} ms", (next.at - exited).as_millis());
    assert!(next.number_after("held") > held.number_after("held"));
    assert!(next.at - exited <= LEASE + notice(&storage), "{:?}", next.at - exited);
    crew.tell(second, "release").await;
    crew.hears(second, "released").await;
    crew.close_one(second).await;
}

/// Not more than what is on the way: the waiter knows when the lease runs out, or is told.
fn notice(storage: &Storage) -> Duration {
    match storage {
        // It ends sessions once in a tick, which is half a second.
        Storage::ZooKeeper(_) | Storage::Ensemble(_) => Duration::from_millis(700),
        Storage::Sqlite(_)
        | Storage::Postgres(_)
        | Storage::MySql(_)
        | Storage::Redis(_)
        | Storage::Sentinels(_)
        | Storage::Cluster(_) => Duration::from_millis(200),
    }
}
