//! The client goes on, and what keeps its session alive does not.

use std::{sync::mpsc, time::Duration};

use simba_actors::{Simba, SimbaConfig, Term};
use simba_backends::KeepAlive;
use simba_servers::ZooKeeper;
use tokio::time::sleep;

use crate::{
    kit::{backend, granted, open},
    peer::{LONG, eventually, name, now},
};

const LEASE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_session_that_nobody_keeps_alive_ends_within_the_lease_though_its_client_pings() {
    let server = ZooKeeper::start().await;
    let (mine, other) = (open(server.url(), LEASE).await, open(server.url(), LEASE * 5).await);
    let n = name("n");
    granted(&mine, &n).await;
    assert!(mine.owned().await.is_some());
    let begun = now();
    sleep(LEASE / 2).await;
    assert!(other.is_held(&n).await, "it lasts for its lease");
    granted(&other, &n).await;
    // The ensemble alone would keep it for as long as the client pings.
    assert!(begun.elapsed() < LEASE * 2, "{:?}", begun.elapsed());
    for _ in 0..3 {
        let answer = mine.backend.keep_alive(&mine.session, LEASE).await;
        assert!(matches!(answer, Ok(KeepAlive::Expired)), "{answer:?}");
    }
}

/// Leads on a thread of its own, with a backend whose clients live there, until it is told to stand still.
#[expect(clippy::disallowed_methods, reason = "a thread that stands still as a whole")]
fn frozen_leader(url: String, won: mpsc::Sender<Term>, frozen: mpsc::Receiver<()>, over: mpsc::Sender<bool>) {
    std::thread::spawn(move || {
        actix::System::new().block_on(async move {
            let config = SimbaConfig::builder().lease(LEASE).renew(LEASE / 4).build().unwrap();
            let simba = Simba::builder().backend(backend(&url).await).config(config).on_this_thread();
            let simba = simba.connect().await.unwrap();
            let lock = simba.lock("n").unwrap().acquire(LONG).await.unwrap();
            won.send(lock.clone()).unwrap();
            sleep(LEASE).await;
            assert!(lock.is_valid(), "it is kept alive");
            // Everything of this System stands still meanwhile.
            frozen.recv().unwrap();
            over.send(lock.is_valid()).unwrap();
            eventually("it hears of it", async || lock.reason().is_some()).await;
            over.send(lock.is_valid()).unwrap();
        });
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_that_stands_still_loses_its_session_and_has_nothing_valid_when_it_goes_on() {
    let server = ZooKeeper::start().await;
    let ((won, wins), (go_on, frozen), (over, ends)) = (mpsc::channel(), mpsc::channel(), mpsc::channel());
    frozen_leader(server.url().into(), won, frozen, over);
    let term: Term = tokio::task::spawn_blocking(move || wins.recv().unwrap()).await.unwrap();
    let other = open(server.url(), LEASE * 5).await;
    sleep(LEASE).await;
    let mut next = None;
    eventually("another gets the name", async || {
        // It has to be kept alive while it waits.
        other.owned().await.unwrap();
        if let Ok(Some(simba_backends::Acquisition::Granted { token, .. })) =
            crate::kit::attempt(&other, &name("n")).await
        {
            assert!(!term.is_valid(), "it was valid until then at most");
            next = Some(token);
        }
        next.is_some()
    })
    .await;
    assert!(next.unwrap() > term.token());
    go_on.send(()).unwrap();
    let ended = tokio::task::spawn_blocking(move || (ends.recv().unwrap(), ends.recv().unwrap()));
    assert_eq!(ended.await.unwrap(), (false, false));
}
