//! Hints of a server that notifies nobody.

use std::{future::poll_fn, pin::Pin, sync::Arc, time::Duration};

use simba_backends::{Hint, HintSource, LeaseBackend, mysql::MySqlBackend};
use simba_tck::Fixture;
use tokio::time::{sleep, timeout};

use crate::{
    fixture::{Server, Usual},
    peer::{BOUND, LONG, Peer, hinted, name, names, next},
};

/// Several times as long as a look takes its time.
const A_WHILE: Duration = Duration::from_secs(1);

/// No hint comes in for a while.
async fn is_quiet(hints: &mut dyn HintSource) -> bool {
    timeout(A_WHILE, poll_fn(|cx| Pin::new(&mut *hints).poll_next(cx))).await.is_err()
}

async fn a_holder_and_a_waiter(server: &Server) -> (Peer, Arc<dyn LeaseBackend>) {
    (Peer::open(server.connect().await, LONG).await, server.connect().await)
}

#[tokio::test]
async fn each_ended_term_is_hinted_once() {
    let server = Server::<Usual>::fresh().await;
    let (holder, waiter) = a_holder_and_a_waiter(&server).await;
    let n = name("n");
    let mut token = holder.granted(&n).await;
    let mut hints = waiter.hints().unwrap();
    hints.want(&n);
    for _ in 0..3 {
        assert!(is_quiet(&mut *hints).await, "it is held");
        holder.release(&n, token).await;
        hinted(&mut *hints, &n).await;
        assert!(is_quiet(&mut *hints).await, "it was told already");
        token = holder.granted(&n).await;
    }
}

/// Its `free_in` told of it too, but the server's clock may be a little later.
#[tokio::test]
async fn a_lease_that_runs_out_is_hinted() {
    let server = Server::<Usual>::fresh().await;
    let dies = Peer::open(server.connect().await, Duration::from_secs(2)).await;
    let n = name("n");
    dies.granted(&n).await;
    let mut hints = server.connect().await.hints().unwrap();
    hints.want(&n);
    assert!(is_quiet(&mut *hints).await, "it is held");
    timeout(BOUND, hinted(&mut *hints, &n)).await.expect("it has run out");
}

#[tokio::test]
async fn what_this_process_releases_is_hinted_before_it_is_time_to_look() {
    let server = Server::<Usual>::fresh().await;
    let builder = MySqlBackend::builder(&server.url()).unwrap().hint_poll(Duration::from_millis(400));
    let backend: Arc<dyn LeaseBackend> = Arc::new(builder.connect().await.unwrap());
    let (holder, n) = (Peer::open(Arc::clone(&backend), LONG).await, name("n"));
    let mut hints = backend.hints().unwrap();
    hints.want(&n);
    let mut sooner = 0;
    for _ in 0..10 {
        let token = holder.granted(&n).await;
        while !is_quiet(&mut *hints).await {}
        holder.release(&n, token).await;
        sooner += u32::from(timeout(Duration::from_millis(100), hinted(&mut *hints, &n)).await.is_ok());
    }
    // By chance alone one in four would be.
    assert!(sooner >= 7, "{sooner} of 10");
}

#[tokio::test]
async fn the_server_is_asked_only_while_somebody_waits_and_once_for_all() {
    let server = Server::<Usual>::fresh().await;
    let (holder, waiter) = a_holder_and_a_waiter(&server).await;
    let all = names("n", 8);
    holder.acquire_all(&all).await;
    let mut sources: Vec<_> = all.iter().map(|_| waiter.hints().unwrap()).collect();
    for hints in &mut sources {
        assert!(timeout(Duration::from_millis(10), next(&mut **hints)).await.is_err());
    }
    let asked = async || {
        sleep(Duration::from_millis(300)).await;
        let before = server.proxy.round_trips();
        sleep(A_WHILE * 2).await;
        server.proxy.round_trips() - before
    };
    assert_eq!(asked().await, 0, "nobody waits");
    for (hints, n) in sources.iter_mut().zip(&all) {
        hints.want(n);
    }
    let trips = asked().await;
    assert!((2..=20).contains(&trips), "{trips} looks at a pace of 100 ms in 2 s");
    for (hints, n) in sources.iter_mut().zip(&all) {
        hints.unwant(n);
    }
    assert_eq!(asked().await, 0, "nobody waits any more");
}

/// The sources of a backend have one task, on the runtime of the first of them.
#[test]
fn hints_survive_the_runtime_that_looked_for_them() {
    let runtime = || tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let n = name("n");
    let (server, holder, backend) = second.block_on(async {
        let server = Server::<Usual>::fresh().await;
        let (holder, waiter) = a_holder_and_a_waiter(&server).await;
        (server, holder, waiter)
    });
    let token = second.block_on(holder.granted(&n));
    let mut hints = backend.hints().unwrap();
    hints.want(&n);
    assert!(first.block_on(async { is_quiet(&mut *hints).await }));
    drop(first);
    second.block_on(async {
        assert_eq!(next(&mut *hints).await, Hint::Gap);
        holder.release(&n, token).await;
        hinted(&mut *hints, &n).await;
    });
    drop(server);
}
