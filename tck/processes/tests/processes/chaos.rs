//! Leaders and candidates that are killed or stopped at random, and what the file and the logs say
//! afterwards.

use std::time::Duration;

use rustix::process::Signal;
use simba_actors::backends::{LeaseBackend, Metadata, connect, sqlite::SqliteBackend};
use simba_processes::now;
use tokio::time::sleep;

use crate::{
    crew::Crew,
    dice::Dice,
    scene::Scene,
    scratch::Scratch,
    storage::{SQLITE, Storage, on},
};

const LEASE: Duration = Duration::from_secs(1);
const KILL_EVERY: Duration = Duration::from_millis(300);
/// After so many kills somebody is stopped instead, for longer than a lease.
const KILLS_TO_A_STOP: u32 = 8;

on!([sqlite, postgres, mysql, mariadb, redis, redis_cluster, zookeeper]
    [five_processes_killed_and_stopped_at_random_never_show_two_valid_terms]);

async fn five_processes_killed_and_stopped_at_random_never_show_two_valid_terms(storage: Storage) {
    let mut scene = Scene::new(LEASE);
    for _ in 0..5 {
        scene.join(&storage.url()).await;
    }
    hit_at_random(&mut scene, &storage).await;
    assert_somebody_leads(&scene.crew, &storage).await;
    let highest = scene.close().await;
    assert!(highest >= 4, "too few terms to prove anything: {highest}");
    match &storage {
        Storage::Sqlite(file) => assert_only_leases_are_left(file, highest).await,
        Storage::Postgres(_)
        | Storage::MySql(_)
        | Storage::Redis(_)
        | Storage::Sentinels(_)
        | Storage::Cluster(_)
        | Storage::ZooKeeper(_)
        | Storage::Ensemble(_) => {}
    }
}

/// Where processes that are killed can break what others need, it takes long until they have.
fn run(storage: &Storage) -> Duration {
    match storage {
        Storage::Sqlite(_) => Duration::from_secs(30),
        Storage::Postgres(_) | Storage::MySql(_) => Duration::from_secs(12),
        Storage::Redis(_)
        | Storage::Sentinels(_)
        | Storage::Cluster(_)
        | Storage::ZooKeeper(_)
        | Storage::Ensemble(_) => Duration::from_secs(9),
    }
}

async fn hit_at_random(scene: &mut Scene, storage: &Storage) {
    let (mut dice, end) = (Dice::new(), now() + run(storage));
    let mut hits = 0;
    while now() < end {
        let next = now() + KILL_EVERY;
        hits += 1;
        // The leader every other time: of the rest nobody would notice.
        let victim = match hits % 2 {
            0 => scene.leads(now()).await.pid,
            _ => dice.pick(&scene.crew.pids()),
        };
        if hits % KILLS_TO_A_STOP == 0 {
            scene.crew.halt(victim, storage, &scene.scratch).await;
            sleep(LEASE * 3 / 2).await;
            scene.crew.signal(victim, Signal::CONT);
        } else {
            scene.crew.kill(victim).await;
            scene.join(&storage.url()).await;
        }
        sleep(next.saturating_sub(now())).await;
    }
}

async fn assert_somebody_leads(crew: &Crew, storage: &Storage) {
    let backend = connect(&storage.url()).await.unwrap();
    let (name, end) = ("leader".parse().unwrap(), now() + LEASE * 3);
    loop {
        let holder = backend.inspect(&name).await.unwrap();
        let metadata = holder.map(|holder| format!("{} ", holder.metadata)).unwrap_or_default();
        if crew.pids().iter().any(|pid| metadata.contains(&format!("pid={pid} "))) {
            return;
        }
        assert!(now() < end, "nobody of the crew leads: {metadata:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

async fn assert_only_leases_are_left(file: &Scratch, highest: u64) {
    sleep(LEASE).await;
    let purging = SqliteBackend::builder(file.url(SQLITE)).purge_interval(Duration::from_millis(50));
    let backend = purging.connect().await.unwrap();
    let session = backend.open_session(LEASE, &Metadata::default()).await.unwrap().session;
    // The purge comes after the answer.
    sleep(Duration::from_millis(500)).await;
    backend.close_session(&session).await.unwrap();

    let mut driver = file.driver(SQLITE).await;
    let counts: (i64, i64) =
        sqlx::query_as("select (select count(*) from simba_session), (select count(*) from simba_member)")
            .fetch_one(&mut driver)
            .await
            .unwrap();
    assert_eq!(counts, (0, 0), "sessions and memberships are left");
    let leases: Vec<(String, String, i64)> =
        sqlx::query_as("select name, session_id, token from simba_lease order by name")
            .fetch_all(&mut driver)
            .await
            .unwrap();
    let [counter, leader] = &leases[..] else { panic!("two leases, with their tokens: {leases:?}") };
    assert_eq!((counter.0.as_str(), counter.1.as_str()), ("counter", ""));
    let (name, session, token) = leader;
    assert_eq!((name.as_str(), session.as_str()), ("leader", ""));
    assert!(token.cast_unsigned() >= highest, "{leases:?} after {highest}");
}
