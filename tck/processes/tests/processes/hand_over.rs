//! How long a name is without a leader when its leader stops in good order.

use std::time::Duration;

use simba_processes::now;
use tokio::time::sleep;

use crate::{
    crew::Crew,
    figures::Figures,
    scene::{LEASE, RENEW},
    scratch::Scratch,
    storage::{Storage, on},
    testimony::Testimony,
};

on!([sqlite, postgres, mysql, mariadb, redis_sentinel, redis_cluster]
    [an_election_that_is_stopped_hands_over_at_once]);

on!([redis, zookeeper_ensemble] [
    an_election_that_is_stopped_hands_over_at_once,
    of_ten_candidates_one_is_elected_at_once,
]);

async fn an_election_that_is_stopped_hands_over_at_once(storage: Storage) {
    let rounds = match &storage {
        Storage::Postgres(_) => 100,
        Storage::Redis(_) => 60,
        Storage::Sqlite(_)
        | Storage::MySql(_)
        | Storage::Sentinels(_)
        | Storage::Cluster(_)
        | Storage::ZooKeeper(_)
        | Storage::Ensemble(_) => 30,
    };
    let figures = measure(2, rounds, &storage).await;
    assert_hinted(&figures);
}

/// Most of the time they leave one another the way.
async fn of_ten_candidates_one_is_elected_at_once(storage: Storage) {
    let figures = measure(10, 40, &storage).await;
    assert!(figures.median() < RENEW / 3, "nobody was told of the release: {figures}");
    assert!(figures.max() < LEASE, "a release was missed: {figures}");
}

async fn measure(candidates: u32, rounds: u64, storage: &Storage) -> Figures {
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers(&scratch, LEASE);
    let mut leader = crew.join(&storage.url(), &["lead"]).await;
    crew.hears(leader, "elected").await;
    for _ in 1..candidates {
        let waiter = crew.join(&storage.url(), &["lead"]).await;
        crew.hears(waiter, "contends").await;
    }
    let mut figures = Figures::default();
    for round in 0..rounds {
        // Until it waits, and out of step with everything that has a pace.
        sleep(Duration::from_millis(50 + round * 37 % 100)).await;
        let told = now();
        crew.tell(leader, "stop").await;
        let next = crew.line(|line| line.pid != leader && line.text.starts_with("elected")).await;
        figures.add(next.at - told);
        crew.tell(leader, "lead").await;
        crew.hears(leader, "contends").await;
        leader = next.pid;
    }
    crew.close().await;
    let terms = Testimony::of(&scratch).check();
    println!("one of {candidates} stopped -> another is elected: {figures}; {terms} terms");
    figures
}

/// Who is not told tries every renew / 2 and more; half of them would take longer than half of that.
pub(crate) fn assert_hinted(figures: &Figures) {
    assert!(figures.median() < RENEW / 6, "nobody was told of the release: {figures}");
    assert!(figures.max() < LEASE, "a release was missed: {figures}");
}
