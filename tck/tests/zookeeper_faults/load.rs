//! What is printed: how long many leases take.

use std::time::Duration;

use simba_backends::{Acquisition, Metadata, Release};
use simba_servers::{Options, ZooKeeper};

use crate::{
    kit::{backend, nodes, number},
    peer::{Peer, names, now},
};

const LEASE: Duration = Duration::from_secs(40);

/// The newest transaction.
async fn zxid(server: &ZooKeeper) -> String {
    let status = server.four_letter_word("srvr").await.unwrap();
    status.lines().find(|line| line.starts_with("Zxid: ")).unwrap().to_owned()
}

async fn peer(server: &ZooKeeper) -> Peer {
    let backend = backend(server.url()).await;
    let opened = backend.open_session(LEASE, &Metadata::default()).await.unwrap();
    Peer { backend, session: opened.session, lease: LEASE }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_leases_are_had_in_no_time_and_kept_without_a_write() {
    let server = ZooKeeper::with(Options::new().set("maxSessionTimeout", "60000")).await;
    let mine = peer(&server).await;
    let all = names("n", 10_000);
    let begun = now();
    let answers = mine.acquire_all(&all).await;
    let acquired_in = begun.elapsed();
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Acquisition::Granted { .. })));
    let before = (zxid(&server).await, server.connected().await[&number(&mine)]);
    let begun = now();
    for _ in 0..10 {
        assert_eq!(mine.owned().await.unwrap().len(), 10_000);
    }
    let kept_in = begun.elapsed() / 10;
    let after = (zxid(&server).await, server.connected().await[&number(&mine)]);
    let owned = mine.owned().await.unwrap();
    let begun = now();
    let answers = mine.backend.release(&mine.session, &owned).await.unwrap();
    let released_in = begun.elapsed();
    println!(
        "10,000 leases: acquired in {acquired_in:?}, kept alive in {kept_in:?} by {} requests each, released in {released_in:?}",
        (after.1 - before.1) / 10
    );
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Release::Gone)));
    assert_eq!(nodes(&server, &mine).await, []);
    assert_eq!(before.0, after.0, "a keep-alive writes nothing");
    assert!(acquired_in < Duration::from_secs(10), "{acquired_in:?}");
}

/// The server's answer may be longer than what it takes itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_thousand_leases_are_told_of_by_each_keep_alive() {
    let server = ZooKeeper::with(Options::new().set("maxSessionTimeout", "60000")).await;
    let mine = peer(&server).await;
    let begun = now();
    for names in names("a-name-of-usual-length-for-a-lease", 30_000).chunks(10_000) {
        mine.acquire_all(names).await;
        let kept = now();
        assert!(mine.owned().await.unwrap().len() >= 10_000);
        println!("kept alive in {:?}, {:?} after the first", kept.elapsed(), begun.elapsed());
    }
    assert_eq!(mine.owned().await.unwrap().len(), 30_000);
    mine.backend.close_session(&mine.session).await.unwrap();
}
