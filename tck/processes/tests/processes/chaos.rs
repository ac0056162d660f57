//! Leaders and candidates that are killed or stopped at random, and what the file and the logs say
//! afterwards.

use std::time::Duration;

use rustix::process::Signal;
use simba_actors::backends::{LeaseBackend, Metadata, connect, sqlite::SqliteBackend};
use simba_processes::{Fence, Verdict, Write, now};
use tokio::time::sleep;

use crate::{
    crew::Crew,
    dice::Dice,
    scratch::Scratch,
    storage::{SQLITE, Storage, on},
    testimony::Testimony,
};

const LEASE: Duration = Duration::from_secs(1);
const RUN: Duration = Duration::from_secs(60);
const KILL_EVERY: Duration = Duration::from_millis(300);
/// After so many kills somebody is stopped instead, for longer than a lease.
const KILLS_TO_A_STOP: u32 = 8;

on!([sqlite][five_processes_killed_and_stopped_at_random_never_show_two_valid_terms]);

async fn five_processes_killed_and_stopped_at_random_never_show_two_valid_terms(storage: Storage) {
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers(&scratch, LEASE);
    for _ in 0..5 {
        join(&mut crew, &storage).await;
    }
    hit_at_random(&mut crew, &storage, &scratch).await;
    assert_somebody_leads(&crew, &storage).await;
    crew.close().await;

    let terms = Testimony::of(&scratch).check();
    let writes = Fence::open(scratch.directory()).await.unwrap().writes().await.unwrap();
    let highest = check_fence(&writes);
    let refused = writes.iter().filter(|write| write.verdict == Verdict::Refused).count();
    println!("{terms} terms, {} writes, {refused} of them fenced off, highest token {highest}", writes.len());
    assert!(terms >= 10, "too few terms to prove anything: {terms}");
    let Storage::Sqlite(file) = &storage;
    assert_only_leases_are_left(file, highest).await;
}

/// Not until it is ready: a process that is always killed before it contends proves nothing.
async fn join(crew: &mut Crew, storage: &Storage) {
    let pid = crew.join(&storage.url(), &["lead", "pump"]).await;
    crew.hears(pid, "contends").await;
}

async fn hit_at_random(crew: &mut Crew, storage: &Storage, scratch: &Scratch) {
    let (mut dice, end) = (Dice::new(), now() + RUN);
    let mut hits = 0;
    while now() < end {
        let next = now() + KILL_EVERY;
        let victim = dice.pick(&crew.pids());
        hits += 1;
        if hits % KILLS_TO_A_STOP == 0 {
            crew.halt(victim, storage, scratch).await;
            sleep(LEASE * 3 / 2).await;
            crew.signal(victim, Signal::CONT);
        } else {
            crew.kill(victim).await;
            join(crew, storage).await;
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

/// No accepted token is lower than one before, and none that would have been fine was refused.
fn check_fence(writes: &[Write]) -> u64 {
    let mut highest = 0;
    for write in writes {
        match write.verdict {
            Verdict::Accepted => {
                assert!(write.token >= highest, "{write:?} was accepted after {highest}");
                highest = write.token;
            }
            Verdict::Refused => assert!(write.token < highest, "{write:?} was refused after {highest}"),
        }
    }
    highest
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
        sqlx::query_as("select name, session_id, token from simba_lease")
            .fetch_all(&mut driver)
            .await
            .unwrap();
    let [(name, session, token)] = &leases[..] else { panic!("one lease, with its token: {leases:?}") };
    assert_eq!((name.as_str(), session.as_str()), ("leader", ""));
    assert!(token.cast_unsigned() >= highest, "{leases:?} after {highest}");
}
