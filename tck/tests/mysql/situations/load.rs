//! Many sessions, many leases, and what they cost. The figures are printed.

use std::{sync::Arc, time::Duration};

use simba_backends::{Acquisition, LeaseBackend, mysql::MySqlBackend};
use simba_servers::Options;
use simba_tck::Fixture;
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
    let mut operator = server.operator().await;
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for round in 0..200 {
        let n = name(format!("n{round}"));
        let before = now();
        let token = peer.granted(&n).await;
        peer.release(&n, token).await;
        peer.granted(&n).await;
        peer.release(&n, simba_backends::Token::new(token.get() + 1).unwrap()).await;
        ours.push(before.elapsed() / 2);
        let before = now();
        for _ in 0..2 {
            operator
                .run(&format!(
                    "insert into simba_lease values ('r{round}', 'me', 1) on duplicate key update
                    token = token + 1, session_id = 'me'"
                ))
                .await;
            operator.run(&format!("update simba_lease set session_id = '' where name = 'r{round}'")).await;
        }
        raw.push(before.elapsed() / 2);
    }
    println!("a pair takes {:?}, the plainest statements {:?}", median(ours), median(raw));
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
