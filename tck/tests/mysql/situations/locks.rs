//! Sessions whose rows somebody has locked, or changes meanwhile.

use std::time::Duration;

use simba_backends::{Acquisition, KeepAlive};
use simba_tck::Fixture;
use tokio::time::{sleep, timeout};

use crate::{
    fixture::{Server, Usual},
    peer::{BOUND, LONG, Peer, name},
};

const LEASE: Duration = Duration::from_secs(2);

/// How many transactions wait for a lock.
const WAITING: &str = "select count(*) from information_schema.innodb_trx where trx_state = 'LOCK WAIT'";

/// Two processes: their clients share nothing.
async fn two(server: &Server) -> (Peer, Peer) {
    let (one, other) = (server.connect().await, server.connect().await);
    (Peer::open(one, LONG).await, Peer::open(other, LONG).await)
}

/// One that held these names when it died, and one that is alive.
async fn dead_and_alive(server: &Server, held: &[&str]) -> (Peer, Peer) {
    let (dead, alive) = (server.untidy().await, server.untidy().await);
    let (dead, alive) = (Peer::open(dead, LEASE).await, Peer::open(alive, LONG).await);
    for n in held {
        dead.granted(&name(n)).await;
    }
    sleep(LEASE * 5 / 4).await;
    (dead, alive)
}

#[tokio::test]
async fn a_keep_alive_that_waits_two_leases_for_a_lock_does_not_revive() {
    let server = Server::<Usual>::fresh().await;
    let holder = Peer::open(server.connect().await, Duration::from_secs(1)).await;
    let taker = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    holder.granted(&n).await;
    let hold = server.hold_session(&holder.session).await.unwrap();
    let waiting = tokio::spawn({
        let holder = holder.clone();
        async move { holder.backend.keep_alive(&holder.session, LONG).await }
    });
    server.operator().await.awaited(WAITING).await;
    sleep(holder.lease * 2).await;
    assert!(!waiting.is_finished(), "it waits for the lock");
    hold.end().await;
    let answer = waiting.await.unwrap();
    assert!(matches!(answer, Ok(KeepAlive::Expired)), "{answer:?}");
    taker.granted(&n).await;
}

/// The holder's row is locked all the while, as by its own keep-alive: whoever sees it live leaves it alone.
#[tokio::test]
async fn a_candidate_that_sees_a_live_holder_waits_for_no_lock() {
    let server = Server::<Usual>::fresh().await;
    let (holder, candidate) = two(&server).await;
    let (held, free) = (name("held"), name("free"));
    holder.granted(&held).await;
    let token = candidate.granted(&free).await;
    candidate.release(&free, token).await;
    let hold = server.hold_session(&holder.session).await.unwrap();
    let own = server.hold_session(&candidate.session).await.unwrap();
    let asked = [held.clone(), free, name("fresh")];
    let answers = timeout(BOUND, candidate.acquire_all(&asked)).await.expect("it waits for nothing");
    for (name, answer) in answers {
        if name == held {
            assert!(matches!(answer, Acquisition::Held { free_in: Some(_) }), "{name}: {answer:?}");
        } else {
            assert!(matches!(answer, Acquisition::Granted { .. }), "{name}: {answer:?}");
        }
    }
    hold.end().await;
    own.end().await;
}

/// Its keep-alive has read the clock in time and renewed, and is late with its commit.
#[tokio::test]
async fn l12_a_holder_that_is_just_being_renewed_is_respected() {
    let server = Server::<Usual>::fresh().await;
    let (holder, candidate) = dead_and_alive(&server, &["n"]).await;
    let (n, other) = (name("n"), name("other"));
    let mut late = server.operator().await;
    late.run(&format!(
        "start transaction;
        update simba_session set expires_at = 99999999999999 where session_id = '{}'",
        holder.session
    ))
    .await;
    let answers = timeout(BOUND, candidate.acquire_all(&[n.clone(), other.clone()])).await;
    for (name, answer) in answers.expect("nobody waits for a locked session") {
        if name == n {
            assert!(matches!(answer, Acquisition::Held { .. }), "{name}: {answer:?}");
        } else {
            assert!(matches!(answer, Acquisition::Granted { .. }), "{name}: {answer:?}");
        }
    }
    late.run("commit").await;
    assert!(matches!(candidate.acquire(&n).await, Acquisition::Held { free_in: Some(_) }));
    assert_eq!(holder.owned().await.unwrap().len(), 1);
}

/// A take-over shares the row of the dead session with others.
#[tokio::test]
async fn two_candidates_take_what_one_dead_session_held_at_the_same_time() {
    let server = Server::<Usual>::fresh().await;
    let (holder, candidate) = dead_and_alive(&server, &["a", "b"]).await;
    let statement = format!("select 1 from simba_session where session_id = '{}'", holder.session);
    let hold = server.hold(format!("{statement} lock in share mode")).await;
    candidate.granted(&name("a")).await;
    hold.end().await;
    candidate.granted(&name("b")).await;
}

/// The candidate saw the lease free, then waited for something else. Whoever has the lease by then has a session
/// that the candidate has not seen.
#[tokio::test]
async fn l13_a_holder_that_came_while_the_take_over_waited_is_respected() {
    let server = Server::<Usual>::fresh().await;
    let candidate = Peer::open(server.connect().await, LONG).await;
    let (n, waits) = (name("n"), name("waits"));
    let token = candidate.granted(&n).await;
    candidate.release(&n, token).await;
    let mut operator = server.operator().await;
    // Nobody can insert the name.
    let gap = server.hold("select 1 from simba_lease where name = 'waits' for update".to_owned()).await;

    let taking = tokio::spawn({
        let (candidate, asked) = (candidate.clone(), [n.clone(), waits.clone()]);
        async move { candidate.acquire_all(&asked).await }
    });
    operator.awaited(WAITING).await;
    operator
        .run(
            "insert into simba_session values ('young', 99999999999999, '');
            update simba_lease set session_id = 'young', token = token + 1 where name = 'n'",
        )
        .await;
    gap.end().await;
    for (name, answer) in taking.await.unwrap() {
        if name == n {
            assert!(matches!(answer, Acquisition::Held { free_in: Some(_) }), "{name}: {answer:?}");
        } else {
            assert!(matches!(answer, Acquisition::Granted { .. }), "{name}: {answer:?}");
        }
    }
    let holder = candidate.holder(&n).await.expect("somebody holds it");
    assert_eq!((holder.session.as_str(), holder.token.get()), ("young", token.get() + 1));
}

/// The operator keeps the index from which the lease is to be removed, then asks for the lease: one of the two
/// has to give way, and has already been granted another name.
#[tokio::test]
async fn the_victim_of_a_deadlock_is_run_again_and_forgets_no_grant() {
    let server = Server::<Usual>::fresh().await;
    let backend = server.backend().await;
    let candidate = Peer::open(std::sync::Arc::new(backend.clone()), LONG).await;
    let (n, fresh) = (name("n"), name("fresh"));
    let token = candidate.granted(&n).await;
    candidate.release(&n, token).await;
    let mut operator = server.operator().await;
    operator.run("create table work (id int primary key, text char(200))").await;
    let work: Vec<_> = (0..500).map(|id| format!("({id}, '')")).collect();
    operator
        .run(&format!(
            "set session transaction isolation level read committed;
            start transaction; insert into work values {};
            select session_id from simba_lease force index (idx_lease_session) where session_id = ''
            lock in share mode",
            work.join(",")
        ))
        .await;
    let taking = tokio::spawn({
        let (candidate, asked) = (candidate.clone(), [n.clone(), fresh.clone()]);
        async move { candidate.acquire_all(&asked).await }
    });
    server.operator().await.awaited(WAITING).await;
    operator.run("select 1 from simba_lease where name = 'n' for update").await;
    for (name, answer) in taking.await.unwrap() {
        if name == n {
            assert!(matches!(answer, Acquisition::Held { .. }), "{name}: {answer:?}");
        } else {
            assert!(matches!(answer, Acquisition::Granted { .. }), "{name}: {answer:?}");
        }
    }
    assert_eq!(backend.retries(), 1);
    operator.run("rollback").await;
    assert!(candidate.granted(&n).await > token);
}

/// It leaves what is locked, and does the rest.
#[tokio::test]
async fn a_purge_waits_for_no_lock() {
    let server = Server::<Usual>::fresh().await;
    let ((held, _), (other, _)) =
        tokio::join!(dead_and_alive(&server, &["a"]), dead_and_alive(&server, &["b"]));
    let session = server.hold_session(&held.session).await.unwrap();
    let lease = server.hold_lease(&name("b")).await.unwrap();
    let purges = Peer::open(server.untidy().await, LONG).await;
    let mut operator = server.operator().await;
    let gone = |session| format!("select 1 - count(*) from simba_session where session_id = '{session}'");
    operator.awaited(&gone(&other.session)).await;
    assert_eq!(operator.number(&gone(&held.session)).await, 0, "it was locked");
    assert_eq!(operator.number("select token from simba_lease where name = 'b'").await, 1);
    session.end().await;
    lease.end().await;
    for n in [name("a"), name("b")] {
        purges.granted(&n).await;
    }
}
