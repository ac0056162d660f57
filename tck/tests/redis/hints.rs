//! What one process frees, another hears of.

use std::{sync::Arc, time::Duration};

use simba_actors::{Simba, SimbaConfig};
use simba_backends::{Acquisition, Hint, HintSource, LeaseName, redis::RedisBackend};
use simba_tck::Fixture;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use crate::{
    Storage,
    peer::{BOUND, LONG, Peer, eventually, hinted, listening, name, names, next, now},
    redis_kit::{deployment::Deployment, keys, operator::Operator},
    rival::Child,
};

async fn channels(operator: &mut Operator) -> usize {
    operator.ask::<Vec<String>>("PUBSUB CHANNELS").await.len()
}

async fn subscribers(operator: &mut Operator, name: &LeaseName) -> u64 {
    operator.ask::<(String, u64)>(&format!("PUBSUB NUMSUB {}", keys::lease(name))).await.1
}

/// Waits until so many connections listen for a name; who asks must be polled meanwhile.
async fn subscribed(operator: &mut Operator, source: &mut dyn HintSource, name: &LeaseName) {
    eventually("it is subscribed to", async || {
        // What it says meanwhile is not what is tested.
        let _ = timeout(Duration::from_millis(20), next(source)).await;
        subscribers(operator, name).await > 0
    })
    .await;
}

#[tokio::test]
async fn sources_share_one_connection_and_the_last_takes_it_along() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let mut operator = server.operators().await.remove(0);
    let n = name("n");
    let clients = operator.info("clients", "connected_clients").await;
    for _ in 0..2 {
        let token = mine.granted(&n).await;
        let mut sources: Vec<_> = (0..10).map(|_| mine.hints()).collect();
        for source in &mut sources {
            source.want(&n);
            subscribed(&mut operator, &mut **source, &n).await;
        }
        assert_eq!(subscribers(&mut operator, &n).await, 1);
        mine.release(&n, token).await;
        for source in &mut sources {
            hinted(&mut **source, &n).await;
        }
        drop(sources);
        eventually("nobody listens", async || {
            channels(&mut operator).await == 0
                && operator.info("clients", "connected_clients").await <= clients + 1
        })
        .await;
    }
}

#[tokio::test]
async fn a_connection_that_is_killed_again_and_again_comes_back_with_a_gap() {
    let server = Storage::fresh().await;
    let (mine, n) = (Peer::open(server.connect().await, LONG).await, name("n"));
    let mut operator = server.operators().await.remove(0);
    let mut hints = server.connect().await.hints().expect("Redis hints");
    let mut token = mine.granted(&n).await;
    hints.want(&n);
    subscribed(&mut operator, &mut *hints, &n).await;
    for _ in 0..5 {
        server.lose_hints().await.unwrap();
        listening(&mut *hints).await;
        assert_eq!(subscribers(&mut operator, &n).await, 1, "a gap is told when it is back");
        mine.release(&n, token).await;
        hinted(&mut *hints, &n).await;
        token = mine.granted(&n).await;
    }
    server.restart().await.unwrap();
    listening(&mut *hints).await;
    eventually("it is there again", async || mine.backend.inspect(&n).await.is_ok()).await;
    mine.backend.close_session(&mine.session).await.unwrap();
    hinted(&mut *hints, &n).await;
}

/// Nothing says that the connection is none any more: it has to be asked.
#[tokio::test]
async fn a_connection_that_is_black_holed_is_noticed_and_comes_back_with_a_gap() {
    let server = Storage::fresh().await;
    let (mine, n) =
        (Peer::open(Arc::new(RedisBackend::connect(&server.url()).await.unwrap()), LONG).await, name("n"));
    let mut operator = server.operators().await.remove(0);
    let backend = server.builder().call_timeout(Duration::from_secs(1)).connect().await.unwrap();
    let backend: Arc<dyn simba_backends::LeaseBackend> = Arc::new(backend);
    let mut hints = backend.hints().expect("Redis hints");
    let token = mine.granted(&n).await;
    hints.want(&n);
    subscribed(&mut operator, &mut *hints, &n).await;
    server.place.proxy.black_hole().await;
    sleep(Duration::from_secs(6)).await;
    server.place.proxy.heal().await;
    listening(&mut *hints).await;
    mine.release(&n, token).await;
    hinted(&mut *hints, &n).await;
}

#[tokio::test]
async fn ten_thousand_names_wanted_and_abandoned_leave_nothing_at_the_server() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let mut operator = server.operators().await.remove(0);
    let all = names("n", 10_000);
    mine.acquire_all(&all).await;
    let mut hints = mine.hints();
    hints.want(&all[0]);
    subscribed(&mut operator, &mut *hints, &all[0]).await;
    let clients = operator.info("clients", "connected_clients").await;
    for _ in 0..2 {
        for name in &all {
            hints.want(name);
        }
        eventually("all are subscribed to", async || {
            let _ = timeout(Duration::from_millis(20), next(&mut *hints)).await; // it must be polled
            channels(&mut operator).await == 10_000
        })
        .await;
        for name in &all {
            hints.unwant(name);
        }
        eventually("none is subscribed to", async || {
            let _ = timeout(Duration::from_millis(20), next(&mut *hints)).await; // it must be polled
            channels(&mut operator).await == 0
        })
        .await;
        assert!(
            operator.info("clients", "connected_clients").await <= clients,
            "connections are left behind"
        );
    }
}

#[tokio::test]
async fn a_close_and_a_big_release_are_hinted_name_by_name() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let mut operator = server.operators().await.remove(0);
    let all = names("n", 500);
    let mut hints = server.connect().await.hints().expect("Redis hints");
    mine.acquire_all(&all).await;
    for name in &all {
        hints.want(name);
    }
    subscribed(&mut operator, &mut *hints, &all[499]).await;
    mine.backend.release(&mine.session, &mine.owned().await.unwrap()).await.unwrap();
    let mut heard = std::collections::BTreeSet::new();
    while heard.len() < 500 {
        if let Hint::Released { name, .. } = next(&mut *hints).await {
            heard.insert(name);
        }
    }
    mine.acquire_all(&all).await;
    mine.backend.close_session(&mine.session).await.unwrap();
    hinted(&mut *hints, &all[0]).await;
}

/// A candidate's regular look comes after half a renew interval and its jitter; the lease would run out much later.
#[tokio::test]
async fn with_every_message_dropped_a_candidate_looks_at_its_regular_time() {
    let server = Storage::fresh().await;
    let config = SimbaConfig::builder().lease(Duration::from_secs(60)).renew(Duration::from_secs(4)).build();
    let config = config.unwrap();
    let mut simbas = Vec::new();
    let (elected, mut heard) = mpsc::unbounded_channel();
    for number in 0..2 {
        let backend = Arc::new(server.backend().await);
        let simba = Simba::builder().backend(backend).config(config.clone()).connect().await.unwrap();
        let elected = elected.clone();
        let election = simba.election("job").unwrap().run_while_leader(move |_| {
            let elected = elected.clone();
            async move {
                elected.send(number).unwrap();
                std::future::pending::<()>().await;
            }
        });
        simbas.push((simba, election.await.unwrap()));
        if number == 0 {
            assert_eq!(timeout(BOUND, heard.recv()).await.unwrap(), Some(0));
        }
    }
    server.place.own().unwrap();
    let mut operator = server.operators().await.remove(0);
    eventually("the other waits", async || subscribers(&mut operator, &name("job")).await == 1).await;
    operator.run("ACL SETUSER app -publish").await;
    let begun = now();
    simbas[0].0.close().await.unwrap();
    assert_eq!(timeout(BOUND, heard.recv()).await.expect("it looks again"), Some(1));
    println!("without a hint: elected after {:?}, renew / 2 and jitter are 4 s", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(20), "the lease ran out before it looked");
    simbas[1].0.close().await.unwrap();
}

/// Between two processes, each release is heard of; how soon, is printed.
#[tokio::test]
async fn two_processes_hand_over_by_hint() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let mut there = Child::start(&server.url()).await;
    let (theirs, n) = (there.open(LONG).await, name("n"));
    let mut hints = mine.hints();
    let (mut heard, mut taken) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        let granted = there.acquire(&theirs, &n).await;
        let token = granted.strip_prefix("granted ").unwrap_or_else(|| panic!("{granted}"));
        hints.want(&n);
        let begun = now();
        there.tell(&format!("release {theirs} {n} {token}")).await;
        let ours = loop {
            hinted(&mut *hints, &n).await;
            let hint = begun.elapsed();
            match mine.acquire(&n).await {
                Acquisition::Granted { token, .. } => {
                    heard.push(hint);
                    break token;
                }
                // It was of our own release, before it was taken there.
                Acquisition::Held { .. } => {}
                other @ (Acquisition::AlreadyOwned { .. } | Acquisition::Failed(_)) => panic!("{other:?}"),
            }
        };
        taken.push(begun.elapsed());
        assert_eq!(there.answer().await, "done");
        hints.unwant(&n);
        mine.release(&n, ours).await;
    }
    for (what, mut times) in [("hint", heard), ("hand-over", taken)] {
        times.sort();
        println!(
            "release to {what}: median {:?}, p99 {:?}, longest {:?}",
            times[100], times[198], times[199]
        );
    }
}
