//! A test process that is killed leaves no server behind.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use simba_servers::{PgBouncer, Postgres};
use sqlx::{Connection, PgConnection};
use tokio::time::{sleep, timeout};

/// Tells the test that it is the process to be killed, and what it does to its server.
const TASK: &str = "SIMBA_SERVERS_TASK";

const BOUND: Duration = Duration::from_secs(30);

/// Computes for hours and looks at nothing meanwhile.
const COMPUTE: &str = "select count(*) from generate_series(1, 10000) a, generate_series(1, 10000) b,
    generate_series(1, 10000) c";

const COMPUTING: &str =
    "select 1 / count(*) from pg_stat_activity where state = 'active' and query like '%generate_series(1, %'
    and pid <> pg_backend_pid()";

/// Not a test: the process that is killed.
#[tokio::test]
async fn process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let postgres = Postgres::start().await;
    let pgbouncer = PgBouncer::before(&postgres).await;
    let mut busy = PgConnection::connect(pgbouncer.url()).await.unwrap();
    let mut admin = PgConnection::connect(postgres.admin_url()).await.unwrap();
    let computing = tokio::spawn(async move { sqlx::raw_sql(COMPUTE).execute(&mut busy).await });
    while sqlx::raw_sql(COMPUTING).execute(&mut admin).await.is_err() {
        sleep(Duration::from_millis(10)).await;
    }
    match task.as_str() {
        "compute" => {}
        "stop" => {
            postgres.stop().unwrap();
            pgbouncer.stop().unwrap();
        }
        other => panic!("no task: {other}"),
    }
    println!("servers: {} {}", postgres.pid().unwrap(), pgbouncer.pid().unwrap());
    computing.await.unwrap().unwrap();
}

/// Starts such a process, kills it once it works, and returns all the processes that it had started.
fn killed_while(task: &str) -> BTreeSet<u32> {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["process", "--exact", "--nocapture"])
        .env(TASK, task)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let servers =
        lines.map_while(Result::ok).find_map(|line| Some(line.split_once("servers: ")?.1.to_owned()));
    let servers: BTreeSet<u32> = servers.unwrap().split(' ').map(|pid| pid.parse().unwrap()).collect();
    let all = running().into_iter().filter(|(pid, parent)| servers.contains(pid) || servers.contains(parent));
    let all: BTreeSet<u32> = all.map(|(pid, _)| pid).collect();
    assert!(all.len() > servers.len() + 3, "PostgreSQL has children: {all:?}");
    process.kill().unwrap();
    process.wait().unwrap();
    all
}

/// Processes that are not zombies, with their parents.
fn running() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let stats = entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut words = stat.rsplit_once(')')?.1.split_whitespace();
        (words.next()? != "Z").then(|| Some((pid, words.next()?.parse().ok()?)))?
    });
    stats.collect()
}

async fn end(servers: &BTreeSet<u32>) {
    let left = || running().into_iter().filter(|(pid, _)| servers.contains(pid)).count();
    let gone = async {
        while left() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(BOUND, gone).await.unwrap_or_else(|_| panic!("{} of {servers:?} are left", left()));
}

#[tokio::test]
async fn servers_end_with_the_process_that_started_them_also_when_they_compute() {
    end(&killed_while("compute")).await;
}

#[tokio::test]
async fn servers_end_with_the_process_that_started_them_also_when_they_are_stopped() {
    end(&killed_while("stop")).await;
}
