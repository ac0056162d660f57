//! What one process frees, another hears of, and who joins and leaves.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use simba_backends::{GroupName, Hint, HintSource, LeaseName, zookeeper::ZooKeeperBackend};
use simba_servers::{Options, Proxy, ZooKeeper};
use tokio::time::{sleep, timeout};
use zookeeper_client::Client;

use crate::peer::{Peer, eventually, hinted, listening as gap, name, names, next, now};

/// Longer than a hint takes that must not come.
const QUIET: Duration = Duration::from_millis(200);

/// What the server grants at most.
const LONG: Duration = Duration::from_secs(10);

/// What it grants at least.
const SHORT: Duration = Duration::from_secs(1);

async fn backend(url: &str) -> Arc<ZooKeeperBackend> {
    Arc::new(ZooKeeperBackend::connect(url).await.unwrap())
}

/// A session with a backend of its own.
async fn peer(url: &str, lease: Duration) -> Peer {
    Peer::open(backend(url).await, lease).await
}

async fn silent(hints: &mut dyn HintSource) {
    let heard =
        timeout(QUIET, std::future::poll_fn(|cx| std::pin::Pin::new(&mut *hints).poll_next(cx))).await;
    assert!(heard.is_err(), "unexpected: {heard:?}");
}

async fn watches(server: &ZooKeeper) -> usize {
    server.watches().await.len()
}

/// Waits until so many paths are watched; who asks for it must be polled meanwhile.
async fn watched(server: &ZooKeeper, hints: &mut dyn HintSource, count: usize) {
    eventually("all is watched", async || {
        // What it says meanwhile is not what is tested.
        let _ = timeout(Duration::from_millis(20), next(hints)).await;
        watches(server).await == count
    })
    .await;
}

async fn unwatched(server: &ZooKeeper) {
    eventually("nothing is watched", async || watches(server).await == 0).await;
}

async fn changed(hints: &mut dyn HintSource, group: &GroupName) {
    while !matches!(next(hints).await, Hint::Members(of) if of == *group) {}
}

#[tokio::test]
async fn a_release_an_expiry_and_a_close_are_hinted_and_what_is_free_at_once() {
    let server = ZooKeeper::start().await;
    let (mine, other) = (peer(server.url(), LONG).await, peer(server.url(), LONG).await);
    let (n, free, closed, expired) = (name("n"), name("free"), name("closed"), name("expired"));
    let token = other.granted(&n).await;
    let closes = peer(server.url(), LONG).await;
    closes.granted(&closed).await;
    let way = Proxy::before(server.address()).await;
    let expires = peer(&way.url(server.url()), SHORT).await;
    expires.granted(&expired).await;
    let mut hints = mine.hints();
    for name in [&n, &free, &closed, &expired] {
        hints.want(name);
    }
    hinted(&mut *hints, &free).await;
    silent(&mut *hints).await;
    other.release(&n, token).await;
    hinted(&mut *hints, &n).await;
    closes.backend.close_session(&closes.session).await.unwrap();
    hinted(&mut *hints, &closed).await;
    way.refuse().await;
    hinted(&mut *hints, &expired).await;
    assert!(!mine.is_held(&expired).await);
    drop(hints);
    unwatched(&server).await;
}

#[tokio::test]
async fn what_is_wanted_again_and_again_stays_watched_and_then_is_left() {
    let server = ZooKeeper::start().await;
    let (mine, other) = (peer(server.url(), LONG).await, peer(server.url(), LONG).await);
    let n = name("n");
    let mut token = other.granted(&n).await;
    let mut hints = mine.hints();
    hints.want(&n);
    silent(&mut *hints).await;
    let mut times = Vec::new();
    let begun = now();
    for _ in 0..100 {
        let released = now();
        other.release(&n, token).await;
        let freed = now();
        hinted(&mut *hints, &n).await;
        times.push((released.elapsed(), freed.elapsed()));
        let ours = mine.granted(&n).await;
        hints.unwant(&n);
        mine.release(&n, ours).await;
        token = other.granted(&n).await;
        hints.want(&n);
    }
    times.sort();
    let all = begun.elapsed();
    println!("begin of a release to hint: median {:?}, longest {:?}", times[50].0, times[99].0);
    println!("200 terms in {all:?}");
    assert_eq!(watches(&server).await, 1);
    hints.unwant(&n);
    eventually("it is left", async || {
        let _ = timeout(Duration::from_millis(20), next(&mut *hints)).await; // it must be polled
        watches(&server).await == 0
    })
    .await;
    hints.want(&n);
    watched(&server, &mut *hints, 1).await;
    other.release(&n, token).await;
    hinted(&mut *hints, &n).await;
}

#[tokio::test]
async fn many_names_take_one_watch_and_all_are_hinted() {
    let server = ZooKeeper::start().await;
    let (mine, other) = (peer(server.url(), LONG).await, peer(server.url(), LONG).await);
    let all = names("n", 600);
    other.acquire_all(&all).await;
    let mut hints = mine.hints();
    let (few, many) = all.split_at(100);
    few.iter().for_each(|name| hints.want(name));
    watched(&server, &mut *hints, 100).await;
    many.iter().for_each(|name| hints.want(name));
    watched(&server, &mut *hints, 1).await;
    other.backend.release(&other.session, &other.owned().await.unwrap()).await.unwrap();
    all_hinted(&mut *hints, &all).await;
    // One that is wanted later, and is free.
    hints.want(&name("free"));
    hinted(&mut *hints, &name("free")).await;
    hints.unwant(&name("free"));
    other.acquire_all(&all).await;
    many.iter().for_each(|name| hints.unwant(name));
    watched(&server, &mut *hints, 100).await;
    other.backend.close_session(&other.session).await.unwrap();
    all_hinted(&mut *hints, few).await;
    drop(hints);
    unwatched(&server).await;
}

/// Waits for a hint about each, and lets nothing but a gap stand for all.
async fn all_hinted(hints: &mut dyn HintSource, all: &[LeaseName]) {
    let mut left: BTreeSet<_> = all.iter().collect();
    while !left.is_empty() {
        match next(hints).await {
            Hint::Released { name, .. } => {
                left.remove(&name);
            }
            other @ (Hint::Gap | Hint::Members(_)) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_group_is_hinted_before_it_exists_and_when_it_was_removed_and_made_anew() {
    let server = ZooKeeper::with(Options::new().set("znode.container.checkIntervalMs", "100")).await;
    let (mine, other) = (peer(server.url(), LONG).await, peer(server.url(), LONG).await);
    let (g, path) = ("g".parse::<GroupName>().unwrap(), "/groups/g");
    let administrator = client(&server).await;
    let root = root(&server);
    let mut hints = mine.hints();
    hints.want_members(&g);
    changed(&mut *hints, &g).await;
    for _ in 0..2 {
        silent(&mut *hints).await;
        other.backend.join(&other.session, &g).await.unwrap();
        changed(&mut *hints, &g).await;
        eventually("the other is a member", async || mine.backend.members(&g).await.unwrap().len() == 1)
            .await;
        while timeout(QUIET, next(&mut *hints)).await.is_ok() {}
        other.backend.leave(&other.session, &g).await.unwrap();
        changed(&mut *hints, &g).await;
        eventually("the container is gone", async || {
            let _ = timeout(Duration::from_millis(20), next(&mut *hints)).await; // it must be polled
            administrator.check_stat(&format!("{root}{path}")).await.unwrap().is_none()
        })
        .await;
        while timeout(QUIET, next(&mut *hints)).await.is_ok() {}
    }
    hints.unwant_members(&g);
    other.backend.join(&other.session, &g).await.unwrap();
    silent(&mut *hints).await;
    unwatched(&server).await;
}

async fn client(server: &ZooKeeper) -> Client {
    Client::connect(&server.address().to_string()).await.unwrap()
}

/// Where this server's tests keep what they keep.
fn root(server: &ZooKeeper) -> String {
    let rest = server.url().split("://").nth(1).unwrap();
    rest.split_once('/').map_or("/simba".to_owned(), |(_, root)| format!("/{root}"))
}

#[tokio::test]
async fn connections_that_are_cut_again_and_again_come_back_with_a_gap_and_leave_nothing() {
    let server = ZooKeeper::start().await;
    let other = peer(server.url(), LONG).await;
    let way = Proxy::before(server.address()).await;
    let mine = peer(&way.url(server.url()), LONG).await;
    // Without a session, too.
    let alone = backend(&way.url(server.url())).await;
    let (n, many) = (name("n"), names("m", 300));
    let mut token = other.granted(&n).await;
    other.acquire_all(&many).await;
    let (mut hints, mut others) = (mine.hints(), simba_backends::LeaseBackend::hints(&*alone).unwrap());
    hints.want(&n);
    watched(&server, &mut *hints, 1).await;
    others.want(&n);
    many.iter().for_each(|name| others.want(name));
    watched(&server, &mut *others, 2).await;
    for _ in 0..3 {
        way.reset().await;
        gap(&mut *hints).await;
        gap(&mut *others).await;
        silent(&mut *hints).await;
        other.release(&n, token).await;
        hinted(&mut *hints, &n).await;
        hinted(&mut *others, &n).await;
        token = other.granted(&n).await;
    }
    drop((hints, others));
    unwatched(&server).await;
}

#[tokio::test]
async fn a_server_that_is_killed_and_started_again_is_watched_again() {
    let server = ZooKeeper::start().await;
    let (mine, other) = (peer(server.url(), LONG).await, peer(server.url(), LONG).await);
    let n = name("n");
    let token = other.granted(&n).await;
    let mut hints = mine.hints();
    hints.want(&n);
    silent(&mut *hints).await;
    server.kill().await.unwrap();
    server.start_again().await.unwrap();
    gap(&mut *hints).await;
    eventually("the other is connected", async || {
        matches!(
            other.backend.keep_alive(&other.session, LONG).await,
            Ok(simba_backends::KeepAlive::Live { .. })
        )
    })
    .await;
    other.release(&n, token).await;
    hinted(&mut *hints, &n).await;
    // Where its session goes, another client goes on.
    let token = other.granted(&n).await;
    mine.backend.close_session(&mine.session).await.unwrap();
    gap(&mut *hints).await;
    other.release(&n, token).await;
    hinted(&mut *hints, &n).await;
    let again = Peer::open(Arc::clone(&mine.backend), LONG).await;
    gap(&mut *hints).await;
    let token = other.granted(&n).await;
    other.release(&n, token).await;
    hinted(&mut *hints, &n).await;
    drop(again);
}

#[tokio::test]
async fn the_parent_of_all_leases_may_go_and_come_back() {
    let server = ZooKeeper::start().await;
    let (mine, other) = (peer(server.url(), LONG).await, peer(server.url(), LONG).await);
    let (n, path) = (name("n"), format!("{}/leases", root(&server)));
    let administrator = client(&server).await;
    let all = names("m", 300);
    let mut hints = mine.hints();
    for all in [&[][..], &all] {
        hints.want(&n);
        all.iter().for_each(|name| hints.want(name));
        watched(&server, &mut *hints, 1).await;
        eventually("the parent is gone", async || administrator.delete(&path, None).await.is_ok()).await;
        let token = other.granted(&n).await;
        other.release(&n, token).await;
        hinted(&mut *hints, &n).await;
        assert!(administrator.check_stat(&path).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_hundred_wants_by_many_sources_leave_nothing() {
    let server = ZooKeeper::start().await;
    let (mine, other) = (peer(server.url(), LONG).await, peer(server.url(), LONG).await);
    let all = names("n", 20);
    let g: GroupName = "g".parse().unwrap();
    other.acquire_all(&all).await;
    for round in 0..100 {
        let mut sources: Vec<_> = (0..5).map(|_| mine.hints()).collect();
        for source in &mut sources {
            all.iter().for_each(|name| source.want(name));
            source.want_members(&g);
            // At whichever moment.
            let _ = timeout(Duration::from_micros(200 * (round % 5)), next(&mut **source)).await;
            all.iter().take(10).for_each(|name| source.unwant(name));
        }
    }
    unwatched(&server).await;
}

/// As of many candidates the one is whom the others see take it.
#[tokio::test]
async fn what_another_has_just_taken_is_held_without_a_call_and_can_be_had_when_it_is_freed() {
    let server = ZooKeeper::start().await;
    let (mine, other) = (peer(server.url(), LONG).await, peer(server.url(), LONG).await);
    let n = name("n");
    let mut hints = mine.hints();
    hints.want(&n);
    hinted(&mut *hints, &n).await;
    let mut saved = 0;
    for _ in 0..20 {
        let token = other.granted(&n).await;
        sleep(Duration::from_millis(5)).await; // that it comes in
        let before = server.received().await;
        assert!(mine.is_held(&n).await);
        // A create and a look would be two more; the question is counted, and what keeps sessions alive.
        saved += u32::from(server.received().await == before + 1);
        other.release(&n, token).await;
        hinted(&mut *hints, &n).await;
    }
    assert!(saved > 0, "each was tried");
    // It may be tried again, and a term of one's own is no reason not to.
    for _ in 0..20 {
        let token = mine.granted(&n).await;
        mine.release(&n, token).await;
    }
    other.granted(&n).await;
    let saved = server.received().await;
    eventually("it is tried", async || {
        assert!(mine.is_held(&n).await);
        server.received().await >= saved + 2
    })
    .await;
}

/// Two sources of one backend, each on a runtime of its own.
#[test]
fn a_source_hears_on_when_the_runtime_that_listened_has_ended() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let (server, n) = (second.block_on(ZooKeeper::start()), name("n"));
    let backend = second.block_on(backend(server.url()));
    // The client that is listened by is of the runtime that ends.
    first.block_on(Peer::open(backend.clone(), LONG));
    let mine = second.block_on(Peer::open(backend, LONG));
    let other = second.block_on(peer(server.url(), LONG));
    let mut listens = mine.hints();
    first.block_on(silent(&mut *listens));
    let mut stays = mine.hints();
    second.block_on(async {
        let token = other.granted(&n).await;
        stays.want(&n);
        silent(&mut *stays).await;
        other.release(&n, token).await;
        hinted(&mut *stays, &n).await;
        let token = other.granted(&n).await;
        tokio::task::spawn_blocking(|| drop(first)).await.unwrap();
        // Once since nobody listens, once since somebody does again.
        gap(&mut *stays).await;
        gap(&mut *stays).await;
        other.release(&n, token).await;
        hinted(&mut *stays, &n).await;
    });
    drop(listens);
}
