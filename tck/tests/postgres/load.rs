//! What is printed: how long things take, and how often calls were run again.

use std::{sync::Arc, time::Duration};

use simba_backends::{Acquisition, LeaseBackend};
use simba_servers::Options;
use simba_tck::Fixture;
use tokio::task::JoinSet;

use crate::{
    fixture::{Server, Way},
    peer::{LONG, Peer, name, names, now},
};

/// Commits wait for the disk.
struct Durable;

impl Way for Durable {
    fn options() -> Options {
        Options::new().durable()
    }
}

#[tokio::test]
async fn ten_thousand_leases_are_acquired_and_kept_alive_in_one_round_trip() {
    let server = Server::<Durable>::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let all = names("n", 10_000);
    let begun = now();
    let answers = mine.acquire_all(&all).await;
    println!("10,000 new leases acquired in {:?}", begun.elapsed());
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Acquisition::Granted { .. })));
    for _ in 0..3 {
        let (before, begun) = (server.proxy.round_trips(), now());
        let owned = mine.owned().await.unwrap();
        println!("10,000 leases kept alive in {:?}", begun.elapsed());
        assert_eq!((owned.len(), server.proxy.round_trips() - before), (10_000, 1));
    }
    let owned = mine.owned().await.unwrap();
    let begun = now();
    mine.backend.release(&mine.session, &owned).await.unwrap();
    println!("10,000 leases released in {:?}", begun.elapsed());
    let begun = now();
    mine.acquire_all(&all).await;
    println!("10,000 known leases acquired in {:?}", begun.elapsed());
}

/// Would undo whoever meets another, if transactions were not at an isolation of their own.
struct Serializable;

impl Way for Serializable {
    fn options() -> Options {
        Options::new().set("default_transaction_isolation", "serializable")
    }
}

/// Everybody tries for the same names, in batches that overlap; whose transactions are undone is run again.
#[tokio::test]
async fn overlapping_batches_of_64_sessions_see_no_error_and_hardly_a_retry() {
    let server = Server::<Serializable>::fresh().await;
    let backends =
        [server.backend().await, server.backend().await, server.backend().await, server.backend().await];
    let mut sessions = JoinSet::new();
    for number in 0..64_usize {
        let backend: Arc<dyn LeaseBackend> = Arc::new(backends[number % 4].clone());
        sessions.spawn(async move {
            let mine = Peer::open(backend, LONG).await;
            let mut granted = 0;
            for round in 0..10 {
                let prefix = format!("r{round}");
                let mut asked = names(&prefix, 264)[number..number + 200].to_vec();
                if number % 2 == 1 {
                    asked.reverse();
                }
                let mut leases = Vec::new();
                for (name, answer) in mine.acquire_all(&asked).await {
                    match answer {
                        Acquisition::Granted { token, .. } => leases.push((name, token)),
                        Acquisition::Held { .. } => {}
                        Acquisition::AlreadyOwned { .. } | Acquisition::Failed(_) => {
                            panic!("{name}: {answer:?}")
                        }
                    }
                }
                granted += leases.len();
                mine.backend.release(&mine.session, &leases).await.unwrap();
            }
            granted
        });
    }
    let granted: usize = sessions.join_all().await.into_iter().sum();
    let retries: Vec<_> = backends.iter().map(|backend| backend.retries()).collect();
    println!("granted {granted} of 128,000, run again: {retries:?}");
    assert!(granted >= 2600, "{granted}");
    assert!(retries.iter().sum::<u64>() < 10, "{retries:?}");
}

/// One acquire and one release, beside two plain updates on a connection of one's own.
#[tokio::test]
async fn a_pair_costs_little_more_than_two_updates() {
    let server = Server::<Durable>::fresh().await;
    let mine = Peer::open(Arc::new(server.direct().await), LONG).await;
    let mut operator = server.operator().await;
    operator.run("create table raw (n int primary key, v int); insert into raw values (1, 0)").await;
    let n = name("n");
    let (mut pairs, mut raw, mut held, mut kept) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..300 {
        let begun = now();
        let token = mine.granted(&n).await;
        mine.release(&n, token).await;
        pairs.push(begun.elapsed());
        let begun = now();
        operator.run("update raw set v = v + 1").await;
        operator.run("update raw set v = v + 1").await;
        raw.push(begun.elapsed());
        let begun = now();
        mine.owned().await.unwrap();
        kept.push(begun.elapsed());
    }
    let other = Peer::open(mine.backend.clone(), LONG).await;
    other.granted(&n).await;
    for _ in 0..300 {
        let begun = now();
        assert!(mine.is_held(&n).await);
        held.push(begun.elapsed());
    }
    for (what, mut times) in
        [("a pair", pairs), ("two updates", raw), ("a keep-alive", kept), ("a held name", held)]
    {
        times.sort();
        println!("{what}: median {:?}, p99 {:?}", times[150], times[296]);
        assert!(times[150] < Duration::from_secs(1));
    }
}
