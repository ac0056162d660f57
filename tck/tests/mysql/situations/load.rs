//! Many sessions, many leases, and what they cost. The figures are printed.

use std::{sync::Arc, time::Duration};

use simba_actors::Simba;
use simba_backends::{Acquisition, LeaseBackend, mysql::MySqlBackend};
use simba_servers::Options;
use simba_tck::Fixture;
use sqlx::{Connection, MySqlConnection};
use tokio::task::JoinSet;

use crate::{
    fixture::{Server, Settings, Usual},
    peer::{LONG, Peer, name, names, now},
};

/// Commits wait for the disk, as in production.
struct Durable;

impl Settings for Durable {
    fn options() -> Options {
        Options::new().durable()
    }
}

async fn backends(server: &Server) -> Vec<MySqlBackend> {
    let mut backends = Vec::new();
    for _ in 0..4 {
        backends.push(server.backend().await);
    }
    backends
}

fn retries(backends: &[MySqlBackend]) -> u64 {
    backends.iter().map(MySqlBackend::retries).sum()
}

/// In opposite orders, and the names are fresh: who inserts one makes others wait.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_racing_for_fresh_names_see_no_error() {
    let server = Server::<Usual>::fresh().await;
    let backends = backends(&server).await;
    let all = names("fresh", 2000);
    let mut racing = JoinSet::new();
    for nth in 0..32 {
        let peer = Peer::open(Arc::new(backends[nth % 4].clone()), LONG).await;
        let mut all = all.clone();
        racing.spawn(async move {
            if nth % 2 == 0 {
                all.reverse();
            }
            let mut granted = 0;
            for batch in all.chunks(50 + nth) {
                for (name, answer) in peer.acquire_all(batch).await {
                    match answer {
                        Acquisition::Granted { .. } => granted += 1,
                        Acquisition::Held { .. } => {}
                        Acquisition::AlreadyOwned { .. } | Acquisition::Failed(_) => {
                            panic!("{name}: {answer:?}")
                        }
                    }
                }
            }
            assert_eq!(peer.owned().await.unwrap().len(), granted);
            granted
        });
    }
    let granted: usize = racing.join_all().await.into_iter().sum();
    assert_eq!(granted, all.len(), "each name was granted once");
    println!("32 sessions racing for 2000 fresh names: {} calls were run again", retries(&backends));
}

#[tokio::test(flavor = "multi_thread")]
async fn c1_64_sessions_take_200_fresh_names_each_and_the_retries_are_counted() {
    let server = Server::<Usual>::fresh().await;
    let backends = backends(&server).await;
    let mut taking = JoinSet::new();
    for nth in 0..64 {
        let peer = Peer::open(Arc::new(backends[nth % 4].clone()), LONG).await;
        taking.spawn(async move {
            for batch in names(peer.session.as_str(), 200).chunks(20) {
                for (name, answer) in peer.acquire_all(batch).await {
                    assert!(matches!(answer, Acquisition::Granted { .. }), "{name}: {answer:?}");
                }
            }
        });
    }
    taking.join_all().await;
    println!("64 sessions taking 200 fresh names each: {} calls were run again", retries(&backends));
}

#[tokio::test]
async fn c2_ten_thousand_leases_are_kept_alive_by_one_round_trip() {
    let server = Server::<Durable>::fresh().await;
    let peer = Peer::open(server.connect().await, LONG).await;
    let all = names("n", 10_000);
    let before = now();
    peer.acquire_all(&all).await;
    println!("10,000 fresh leases acquired in {:?}", before.elapsed());
    let leases = peer.owned().await.unwrap();
    assert_eq!(leases.len(), 10_000);

    let (trips, before) = (server.proxy.round_trips(), now());
    assert_eq!(peer.owned().await.unwrap().len(), 10_000);
    println!("10,000 leases kept alive in {:?}", before.elapsed());
    assert_eq!(server.proxy.round_trips() - trips, 1);

    let before = now();
    peer.backend.release(&peer.session, &leases).await.unwrap();
    println!("10,000 leases released in {:?}", before.elapsed());
    let before = now();
    peer.acquire_all(&all).await;
    println!("10,000 free leases acquired in {:?}", before.elapsed());
    let before = now();
    peer.backend.close_session(&peer.session).await.unwrap();
    println!("10,000 leases closed in {:?}", before.elapsed());
}

/// An acquire, fresh or free or held, and a release are one round trip each.
#[tokio::test]
async fn every_call_is_one_round_trip() {
    let server = Server::<Durable>::fresh().await;
    let (mine, other) =
        (Peer::open(server.connect().await, LONG).await, Peer::open(server.connect().await, LONG).await);
    mine.granted(&name("warm")).await;
    other.granted(&name("up")).await;
    let all = names("n", 1000);
    let before = server.proxy.round_trips();
    let answers = mine.acquire_all(&all).await;
    assert_eq!(server.proxy.round_trips() - before, 1, "fresh names");
    other.acquire_all(&all).await;
    assert_eq!(server.proxy.round_trips() - before, 2, "held names");
    let leases: Vec<_> = answers
        .into_iter()
        .map(|(name, answer)| {
            let Acquisition::Granted { token, .. } = answer else { panic!("{name}: {answer:?}") };
            (name, token)
        })
        .collect();
    mine.backend.release(&mine.session, &leases).await.unwrap();
    assert_eq!(server.proxy.round_trips() - before, 3, "a release");
    other.acquire_all(&all).await;
    assert_eq!(server.proxy.round_trips() - before, 4, "free names");
}

/// A pair of acquire and release of one name, beside the plainest that the driver could do.
#[tokio::test]
async fn a_pair_is_measured_beside_the_plainest_statements() {
    let server = Server::<Durable>::fresh().await;
    let backend: Arc<dyn LeaseBackend> = Arc::new(crate::fixture::backend(&server.url()).await);
    let peer = Peer::open(backend, LONG).await;
    let mut plain = MySqlConnection::connect(&server.url()).await.unwrap();
    let n = name("pair");
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for _ in 0..300 {
        let before = now();
        let token = peer.granted(&n).await;
        peer.release(&n, token).await;
        ours.push(before.elapsed());
        let before = now();
        plain_pair(&mut plain, "plain").await;
        raw.push(before.elapsed());
    }
    println!("a pair takes {:?}, the plainest statements {:?}", median(ours), median(raw));
}

/// Names asked for while a call is in flight travel in the next one.
#[tokio::test(flavor = "multi_thread")]
async fn pairs_of_256_tasks_are_measured_beside_those_of_4_plain_connections() {
    const EACH: usize = 16;
    let server = Server::<Durable>::fresh().await;
    let mut plain = JoinSet::new();
    let before = now();
    for nth in 0..4 {
        let mut connection = MySqlConnection::connect(&server.url()).await.unwrap();
        plain.spawn(async move {
            for round in 0..250 {
                plain_pair(&mut connection, &format!("plain-{nth}-{}", round % 64)).await;
            }
        });
    }
    plain.join_all().await;
    let raw = 1000.0 / before.elapsed().as_secs_f64();

    let backend: Arc<dyn LeaseBackend> = Arc::new(crate::fixture::backend(&server.url()).await);
    let simba = Simba::builder().backend(backend).connect().await.unwrap();
    for round in ["fresh", "again"] {
        let mut tasks = JoinSet::new();
        let before = now();
        for task in 0..256 {
            let lock = simba.lock(name(format!("task-{task}"))).unwrap();
            tasks.spawn(async move {
                for _ in 0..EACH {
                    lock.acquire(LONG).await.unwrap().release().await.unwrap();
                }
            });
        }
        tasks.join_all().await;
        let rate = (256 * EACH) as f64 / before.elapsed().as_secs_f64();
        println!(
            "{round}: {rate:.0} pairs/s of 256 tasks, {raw:.0} of 4 plain connections, {:.1}",
            rate / raw
        );
    }
    simba.close().await.unwrap();
}

async fn plain_pair(connection: &mut MySqlConnection, name: &str) {
    for statement in [
        format!(
            "insert into simba_lease values ('{name}', 'me', 1)
            on duplicate key update token = token + 1, session_id = 'me'"
        ),
        format!("update simba_lease set session_id = '' where name = '{name}' and session_id = 'me'"),
    ] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut *connection).await.unwrap();
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
