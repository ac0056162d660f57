//! What one process frees, another hears of.

use std::{sync::Arc, time::Duration};

use simba_backends::{LeaseBackend, postgres::PostgresBackend};
use simba_tck::Fixture;
use tokio::time::sleep;

use crate::{
    fixture::{Direct, Operator, Server},
    peer::{LONG, Peer, eventually, hinted, listening, name, names, now},
    rival::Child,
};

async fn listeners(operator: &mut Operator) -> i64 {
    operator.number("select count(*) from pg_stat_activity where application_name = 'simba hints'").await
}

#[tokio::test]
async fn sources_share_one_connection_and_the_last_takes_it_along() {
    let server = Server::<Direct>::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let mut operator = server.operator().await;
    let n = name("n");
    for _ in 0..2 {
        eventually("nobody listens", async || listeners(&mut operator).await == 0).await;
        let mut sources: Vec<_> = (0..10).map(|_| mine.hints()).collect();
        for source in &mut sources {
            source.want(&n);
            listening(&mut **source).await;
        }
        assert_eq!(listeners(&mut operator).await, 1);
        let token = mine.granted(&n).await;
        mine.release(&n, token).await;
        for source in &mut sources {
            hinted(&mut **source, &n).await;
        }
        drop(sources);
    }
    eventually("nobody listens", async || listeners(&mut operator).await == 0).await;
}

#[tokio::test]
async fn a_connection_that_is_killed_again_and_again_comes_back_with_a_gap() {
    let server = Server::<Direct>::fresh().await;
    let (mine, n) = (Peer::open(server.connect().await, LONG).await, name("n"));
    let mut hints = server.connect().await.hints().expect("a server hints");
    hints.want(&n);
    listening(&mut *hints).await;
    for _ in 0..5 {
        server.lose_hints().await.unwrap();
        listening(&mut *hints).await;
        let token = mine.granted(&n).await;
        mine.release(&n, token).await;
        hinted(&mut *hints, &n).await;
    }
}

/// Nothing says that the connection is none any more: it has to be asked.
#[tokio::test]
async fn a_connection_that_is_black_holed_is_noticed_and_comes_back_with_a_gap() {
    let server = Server::<Direct>::fresh().await;
    let (mine, n) = (Peer::open(server.connect().await, LONG).await, name("n"));
    let proxy = simba_servers::Proxy::before(server.postgres.address()).await;
    let builder = PostgresBackend::builder(&proxy.url(server.postgres.url())).unwrap();
    let backend = builder.call_timeout(Duration::from_secs(1)).connect().await.unwrap();
    let mut hints = backend.hints().expect("a server hints");
    hints.want(&n);
    listening(&mut *hints).await;
    proxy.black_hole().await;
    sleep(Duration::from_secs(5)).await;
    proxy.heal().await;
    listening(&mut *hints).await;
    let token = mine.granted(&n).await;
    mine.release(&n, token).await;
    hinted(&mut *hints, &n).await;
}

#[tokio::test]
async fn a_close_and_a_big_release_are_hinted_name_by_name() {
    let server = Server::<Direct>::fresh().await;
    let (mine, other) =
        (Peer::open(server.connect().await, LONG).await, Peer::open(server.connect().await, LONG).await);
    let all = names("n", 500);
    let mut hints = other.hints();
    listening(&mut *hints).await;
    for name in &all {
        hints.want(name);
    }
    mine.acquire_all(&all).await;
    mine.backend.release(&mine.session, &mine.owned().await.unwrap()).await.unwrap();
    hinted(&mut *hints, &all[0]).await;
    hinted(&mut *hints, &all[499]).await;
    mine.acquire_all(&all).await;
    mine.backend.close_session(&mine.session).await.unwrap();
    hinted(&mut *hints, &all[0]).await;
    hinted(&mut *hints, &all[499]).await;
}

/// Between two processes, each release is heard of; how soon, is printed.
#[tokio::test]
async fn two_processes_hand_over_by_hint() {
    let server = Server::<Direct>::fresh().await;
    let backend: Arc<dyn LeaseBackend> = server.connect().await;
    let mine = Peer::open(backend, LONG).await;
    let mut there = Child::start(&server.url()).await;
    let (theirs, n) = (there.open(LONG).await, name("n"));
    let mut hints = mine.hints();
    hints.want(&n);
    listening(&mut *hints).await;
    let (mut heard, mut taken) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let granted = there.acquire(&theirs, &n).await;
        let token = granted.strip_prefix("granted ").unwrap_or_else(|| panic!("{granted}"));
        let begun = now();
        there.tell(&format!("release {theirs} {n} {token}")).await;
        hinted(&mut *hints, &n).await;
        heard.push(begun.elapsed());
        let ours = mine.granted(&n).await;
        taken.push(begun.elapsed());
        assert_eq!(there.answer().await, "done");
        mine.release(&n, ours).await;
        hinted(&mut *hints, &n).await;
    }
    for (what, mut times) in [("hint", heard), ("hand-over", taken)] {
        times.sort();
        println!(
            "release to {what}: median {:?}, p99 {:?}, longest {:?}",
            times[100], times[198], times[199]
        );
    }
}

/// Two sources of one backend, each on a runtime of its own.
#[test]
fn a_source_hears_on_when_the_runtime_that_listened_has_ended() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let server = second.block_on(Server::<Direct>::fresh());
    let backend = second.block_on(server.connect());
    let n = name("n");
    let mut listens = backend.hints().expect("a server hints");
    first.block_on(listening(&mut *listens));
    let mut stays = backend.hints().expect("a server hints");
    stays.want(&n);
    second.block_on(async {
        let mine = Peer::open(backend, LONG).await;
        let token = mine.granted(&n).await;
        mine.release(&n, token).await;
        hinted(&mut *stays, &n).await;
        tokio::task::spawn_blocking(|| drop(first)).await.unwrap();
        // Once since nobody listens, once since somebody does again.
        listening(&mut *stays).await;
        listening(&mut *stays).await;
        let token = mine.granted(&n).await;
        mine.release(&n, token).await;
        hinted(&mut *stays, &n).await;
    });
    drop(listens);
}
