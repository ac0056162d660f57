//! What Simba costs, each figure beside the raw driver's in the same run: `cargo bench -p simba-tck`.
//!
//! A pair is one acquire and one release of a name of its own. "raw" is the same two statements on one
//! connection with the same durability, and nothing around them.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{
    hint::black_box,
    path::PathBuf,
    time::{Duration, Instant},
};

use simba_actors::{Lock, Simba, SimbaConfig};
use sqlx::{ConnectOptions, Connection, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::task::JoinSet;

const WAIT: Duration = Duration::from_secs(60);

#[tokio::main(worker_threads = 2)]
async fn main() {
    validity().await;
    let folder = std::env::temp_dir().join(format!("simba-speed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the temporary directory takes a folder");
    pairs(&folder).await;
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

/// `is_valid` of a term that runs; the target is at most 60 ns.
async fn validity() {
    let simba = Simba::connect("memory:").await.expect("memory is always there");
    let lock = simba.lock("validity").expect("a good name");
    let term = lock.acquire(WAIT).await.expect("nobody else wants it");
    const ROUNDS: u32 = 5_000_000;
    let took = clocked(|| (0..ROUNDS).filter(|_| black_box(&term).is_valid()).count());
    let nanos = took.as_nanos() as f64 / f64::from(ROUNDS);
    println!("is_valid                          {nanos:8.1} ns   (target: at most 60)");
}

async fn pairs(folder: &std::path::Path) {
    let raw = raw_pairs(folder.join("raw.db"), 500).await;
    println!("sqlite, raw, 1 task               {raw:8.0} pairs/s");
    for (storage, url) in [
        ("sqlite", format!("sqlite://{}", folder.join("simba.db").display())),
        ("memory", "memory:speed".to_owned()),
    ] {
        let config = SimbaConfig::default();
        let simba = Simba::builder().url(url).config(config).connect().await.expect("the storage is there");
        for (tasks, each) in [(1, 1_000), (16, 200), (256, 40)] {
            let rate = simba_pairs(&simba, tasks, each).await;
            println!(
                "{storage}, simba, {tasks:3} tasks          {rate:8.0} pairs/s   ({:.2} of raw)",
                rate / raw
            );
        }
        simba.close().await.expect("the storage is there");
    }
}

async fn simba_pairs(simba: &Simba, tasks: u32, each: u32) -> f64 {
    let start = now();
    let mut work = JoinSet::new();
    for task in 0..tasks {
        let lock = simba.lock(format!("pair-{task}")).expect("a good name");
        work.spawn(repeat(lock, each));
    }
    let mut waits: Vec<_> = work.join_all().await.into_iter().flatten().collect();
    let rate = f64::from(tasks * each) / start.elapsed().as_secs_f64();
    waits.sort_unstable();
    let (p50, p99) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
    println!("    p50 {p50:?}, p99 {p99:?}");
    rate
}

async fn repeat(lock: Lock, times: u32) -> Vec<Duration> {
    let mut waits = Vec::new();
    for _ in 0..times {
        let start = now();
        let term = lock.acquire(WAIT).await.expect("nobody else wants it");
        term.release().await.expect("the session lives");
        waits.push(start.elapsed());
    }
    waits
}

async fn raw_pairs(file: PathBuf, times: u32) -> f64 {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let options = options
        .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal)
        .synchronous(sqlx::sqlite::SqliteSynchronous::Full);
    let mut raw: SqliteConnection = options.connect().await.expect("the folder is writable");
    run(&mut raw, "create table lease (name text primary key, session text, token integer) strict").await;
    let start = now();
    for _ in 0..times {
        run(
            &mut raw,
            "insert into lease values ('pair', 'me', 1) on conflict (name) do update \
             set session = 'me', token = token + 1 where session = ''",
        )
        .await;
        run(&mut raw, "update lease set session = '' where name = 'pair' and session = 'me'").await;
    }
    let rate = f64::from(times) / start.elapsed().as_secs_f64();
    raw.close().await.expect("the connection is ours");
    rate
}

async fn run(raw: &mut SqliteConnection, statement: &'static str) {
    sqlx::query(statement).execute(raw).await.expect("the statement is right");
}

fn clocked<T>(work: impl FnOnce() -> T) -> Duration {
    let start = now();
    black_box(work());
    start.elapsed()
}

#[expect(clippy::disallowed_methods, reason = "a bench measures real time")]
fn now() -> Instant {
    Instant::now()
}
