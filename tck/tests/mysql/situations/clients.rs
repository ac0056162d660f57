//! Clients that stop, give up, or never hear of it.

use std::{pin::pin, sync::Arc, time::Duration};

use simba_backends::{
    BackendError, ErrorKind, KeepAlive, LeaseBackend, LeaseName, Metadata, Outcome, mysql::MySqlBackend,
};
use simba_servers::LostReply;
use simba_tck::{Fixture, Rival};
use tokio::time::{sleep, timeout};

use crate::{
    fixture::{Server, Usual},
    peer::{BOUND, LONG, Peer, eventually, name, names},
    rival::Child,
};

/// Numbers that look random; the same seed gives the same again.
struct Dice(u64);

impl Dice {
    #[expect(clippy::print_stdout, reason = "with it, the test can be run again")]
    fn new() -> Self {
        let given = std::env::var("SIMBA_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| u64::from(std::process::id()));
        println!("SIMBA_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// It wants what the holder has, what nobody has, and what a dead session had, in big batches.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_is_stopped_200_times_delays_no_keep_alive() {
    let server = Server::<Usual>::fresh().await;
    let holder = Peer::open(server.connect().await, Duration::from_secs(20)).await;
    let dead = Peer::open(server.connect().await, Duration::from_secs(1)).await;
    let held = names("held", 150);
    holder.acquire_all(&held).await;
    dead.acquire_all(&names("dead", 150)).await;
    sleep(Duration::from_millis(1250)).await;
    let wanted: Vec<LeaseName> =
        held.iter().cloned().chain(names("dead", 150)).chain(names("free", 150)).collect();
    let mut candidate = Child::start(&server.url()).await;
    let session = candidate.open(LONG).await;
    candidate.contend(&session, &wanted).await;

    let mut dice = Dice::new();
    let others = Peer::open(server.connect().await, LONG).await;
    for round in 0..200 {
        sleep(Duration::from_micros(dice.below(20_000))).await;
        candidate.stop().await;
        let owned = timeout(holder.lease / 4, holder.owned()).await;
        let owned = owned.unwrap_or_else(|_| panic!("round {round}: the stopped candidate is in the way"));
        assert_eq!(owned.expect("it was kept alive in time").len(), held.len());
        // Nor does it keep any name from others, unless it was granted it.
        let answers = timeout(BOUND, others.acquire_all(&names("own", 3))).await;
        assert_eq!(answers.expect("others go on").len(), 3);
        candidate.resume().await;
    }
    candidate.kill_now().await;
}

/// With one connection, the next call needs what the dropped one had.
#[tokio::test(flavor = "multi_thread")]
async fn futures_dropped_at_random_leave_no_transaction_and_no_lock() {
    let server = Server::<Usual>::fresh().await;
    let builder = MySqlBackend::builder(&server.url()).unwrap().max_connections(1);
    let backend: Arc<dyn LeaseBackend> = Arc::new(builder.connect().await.unwrap());
    let peer = Peer::open(Arc::clone(&backend), LONG).await;
    let all = names("n", 40);
    let mut dice = Dice::new();
    for _ in 0..600 {
        let patience = Duration::from_micros(dice.below(3000));
        // What became of it nobody knows.
        let _ = timeout(patience, some_call(dice.below(8), &peer, &all)).await;
    }
    let mut operator = server.operator().await;
    // What was abandoned runs to its end, perhaps later.
    operator.awaited("select count(*) <= 2 from information_schema.processlist where user = 'app'").await;
    operator.awaited("select count(*) = 0 from information_schema.innodb_trx").await;
    operator
        .run(
            "start transaction; select 1 from simba_lease for update nowait;
            select 1 from simba_session for update nowait; select 1 from simba_member for update nowait;
            rollback",
        )
        .await;
    let answers = timeout(BOUND, peer.acquire_all(&all)).await.expect("the connection is usable");
    assert_eq!(answers.len(), 40);
    assert_eq!(peer.owned().await.expect("the session lives").len(), 40);
}

async fn some_call(which: u64, peer: &Peer, all: &[LeaseName]) -> Result<(), BackendError> {
    let (backend, session, group) = (&peer.backend, &peer.session, "crew".parse().unwrap());
    let some = &all[..all.len() / 2];
    match which {
        0 => backend.acquire(session, all).await.map(drop),
        1 => backend.acquire(session, some).await.map(drop),
        2 => backend.keep_alive(session, LONG).await.map(drop),
        3 => backend.join(session, &group).await.map(drop),
        4 => backend.leave(session, &group).await,
        5 => {
            let fleeting = backend.open_session(LONG, &Metadata::default()).await?.session;
            backend.acquire(&fleeting, &names("fleeting", 20)).await?;
            backend.close_session(&fleeting).await
        }
        _ => {
            let KeepAlive::Live { owned, .. } = backend.keep_alive(session, LONG).await? else {
                panic!("{session} has expired");
            };
            backend.release(session, &owned).await.map(drop)
        }
    }
}

#[tokio::test]
async fn l11_a_grant_whose_answer_was_lost_is_listed() {
    let server = Server::<Usual>::fresh().await;
    let peer = Peer::open(server.connect().await, LONG).await;
    let warm = name("warm");
    peer.granted(&warm).await;
    for (n, then) in [("a", LostReply::Reset), ("b", LostReply::Silence)] {
        let n = name(n);
        eventually("there is a connection", async || peer.backend.inspect(&warm).await.is_ok()).await;
        server.proxy.lose_replies(then).await;
        let answer = timeout(BOUND, peer.backend.acquire(&peer.session, std::slice::from_ref(&n))).await;
        let error = answer.expect("it fails in time").unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
        server.proxy.heal().await;
        // The server may have been answering while it still worked.
        eventually("the grant is listed", async || {
            match peer.backend.keep_alive(&peer.session, LONG).await {
                Ok(KeepAlive::Live { owned, .. }) => owned.iter().any(|(name, _)| *name == n),
                Ok(KeepAlive::Expired) => panic!("the session lives"),
                Err(_) => false,
            }
        })
        .await;
    }
}

/// A call that is never answered ends with its time-out; the next one takes another connection.
#[tokio::test]
async fn a_call_that_is_not_answered_fails_in_time_and_the_next_one_is_answered() {
    let server = Server::<Usual>::fresh().await;
    let limit = Duration::from_millis(700);
    let builder = MySqlBackend::builder(&server.proxied_url()).unwrap().call_timeout(limit);
    let peer = Peer::open(Arc::new(builder.connect().await.unwrap()), LONG).await;
    peer.granted(&name("a")).await;
    server.proxy.black_hole().await;
    for call in 0..3 {
        let mut answer = pin!(peer.backend.keep_alive(&peer.session, LONG));
        let answer = timeout(BOUND, &mut answer).await.expect("it fails in time");
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Timeout, "call {call}");
        let answer = timeout(BOUND, peer.backend.inspect(&name("a"))).await.expect("it fails in time");
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Timeout, "call {call}");
    }
    server.proxy.heal().await;
    assert_eq!(peer.owned().await.expect("it was not that long").len(), 1);
    assert!(peer.holder(&name("a")).await.is_some());
}
