//! Two hundred candidates of one lock: few of them ask when it is released.

use std::time::Duration;

use simba_processes::now;
use simba_servers::{ADMIN_PASSWORD, Options, Redis, ZooKeeper};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{crew::Crew, scratch::Scratch, storage::Storage};

/// So long that nothing has a pace of its own while the test runs.
const LEASE: Duration = Duration::from_secs(600);
const PROCESSES: usize = 20;
const WARM_UP: usize = 3;
const SECOND: Duration = Duration::from_secs(1);

/// On a quiet machine 300 ms and 40; twice that on any other.
const WINNER: Duration = Duration::from_millis(600);
const CALLS: usize = 80;

#[tokio::test]
async fn redis_of_two_hundred_candidates_few_ask_when_the_lock_is_released() {
    few_ask_when_the_lock_is_released(&Storage::redis().await).await;
}

#[tokio::test]
async fn zookeeper_of_two_hundred_candidates_few_ask_when_the_lock_is_released() {
    let longest = LEASE.as_millis().to_string();
    let server = ZooKeeper::with(Options::new().set("maxSessionTimeout", &longest)).await;
    few_ask_when_the_lock_is_released(&Storage::ZooKeeper(server)).await;
}

async fn few_ask_when_the_lock_is_released(storage: &Storage) {
    if !storage.is_ours() {
        return;
    }
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers(&scratch, LEASE);
    for _ in 0..PROCESSES {
        let pid = crew.join(&storage.url(), &["crowd"]).await;
        crew.hears(pid, "gathered").await;
    }
    let heard = crew.heard().iter().find(|line| line.text.starts_with("won"));
    let mut holder = heard.expect("one has it").pid;
    for round in 0..=WARM_UP {
        let (count, released) = (Count::begin(storage).await, now());
        crew.tell(holder, "yield").await;
        let winner = crew.line(|line| line.text.starts_with("won")).await;
        let calls = count.until(released + SECOND).await;
        let after = winner.at - released;
        println!("released -> acquired by another: {} ms; {calls} acquires in a second", after.as_millis());
        if round == WARM_UP {
            assert!(after < WINNER, "{after:?}");
            assert!(calls <= CALLS, "{calls}");
        }
        holder = winner.pid;
    }
    for pid in crew.pids() {
        crew.kill(pid).await;
    }
}

/// How often the lock is asked for.
enum Count<'a> {
    Redis(Lines<BufReader<TcpStream>>),
    /// From that transaction on: each attempt is one, in vain or not.
    ZooKeeper(&'a ZooKeeper, usize),
}

impl<'a> Count<'a> {
    async fn begin(storage: &'a Storage) -> Self {
        match storage {
            Storage::Redis(server) => Self::Redis(monitor(server).await),
            Storage::ZooKeeper(server) => Self::ZooKeeper(server, transactions(server).await),
            Storage::Sqlite(_)
            | Storage::Postgres(_)
            | Storage::MySql(_)
            | Storage::Sentinels(_)
            | Storage::Cluster(_)
            | Storage::Ensemble(_) => unreachable!("nobody counts there"),
        }
    }

    async fn until(self, end: Duration) -> usize {
        match self {
            Self::Redis(monitor) => acquires(monitor, end).await,
            Self::ZooKeeper(server, before) => {
                sleep(end.saturating_sub(now())).await;
                // One of them was the release.
                transactions(server).await - before - 1
            }
        }
    }
}

/// How many transactions there have been.
async fn transactions(server: &ZooKeeper) -> usize {
    let status = server.four_letter_word("srvr").await.unwrap();
    let last = status.lines().find_map(|line| line.strip_prefix("Zxid: 0x")).expect("it has one");
    usize::from_str_radix(last, 16).unwrap()
}

/// Every command that the server runs from now on.
async fn monitor(server: &Redis) -> Lines<BufReader<TcpStream>> {
    let mut stream = BufReader::new(TcpStream::connect(server.address()).await.unwrap());
    stream.write_all(format!("AUTH admin {ADMIN_PASSWORD}\r\nMONITOR\r\n").as_bytes()).await.unwrap();
    let mut lines = stream.lines();
    for _ in 0..2 {
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("+OK"));
    }
    lines
}

/// How many of these asked for a lease until then: of all scripts only that begins with the session's key.
async fn acquires(mut monitor: Lines<BufReader<TcpStream>>, end: Duration) -> usize {
    let mut calls = 0;
    while let Ok(line) = timeout(end.saturating_sub(now()), monitor.next_line()).await {
        let line = line.unwrap().expect("the server runs");
        let mut words = line.split(' ').skip_while(|word| !word.eq_ignore_ascii_case("\"evalsha\""));
        let session = words.nth(3).is_some_and(|key| key.starts_with("\"simba:session:"));
        calls += usize::from(session && line.contains("\"simba:lease:{herd}\""));
    }
    calls
}
