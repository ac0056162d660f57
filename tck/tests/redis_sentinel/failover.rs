//! Masters that are replaced under a client.

use std::time::Duration;

use simba_backends::{Acquired, Acquisition, KeepAlive, LeaseBackend, redis::RedisBackend};
use simba_servers::Redis;
use simba_tck::Fixture;
use tokio::time::timeout;

use crate::{
    Storage,
    peer::{BOUND, LONG, Peer, eventually, hinted, name, names, now},
    redis_kit::{fixture::Server, operator::Operator, ways::Watched},
};

/// Waits until both replicas have all that the master has done so far.
async fn replicated(master: &Redis) {
    let mut operator = Operator::at(master.admin_url()).await;
    operator.run("SET fence 1").await;
    assert_eq!(operator.ask::<u32>("WAIT 2 30000").await, 2);
}

#[expect(clippy::print_stdout, reason = "what is measured is printed")]
async fn a_master_is_replaced(how: impl AsyncFn(&Redis), after: impl AsyncFn(&Redis)) {
    let server: Storage = Server::of(Watched::alert().await);
    let sentinels = &server.place.sentinels;
    let mine = Peer::open(server.connect().await, LONG).await;
    let idle = Peer::open(server.connect().await, LONG).await;
    let held = names("n", 5);
    mine.acquire_all(&held).await;
    let mut before = mine.owned().await.unwrap();
    replicated(sentinels.primary()).await;
    let begun = now();
    how(sentinels.primary()).await;
    let mut failed = 0;
    let mut owned = loop {
        assert!(begun.elapsed() < BOUND, "no call is answered");
        match timeout(BOUND, mine.backend.keep_alive(&mine.session, LONG)).await.expect("it fails in time") {
            Ok(KeepAlive::Live { owned, .. }) if failed > 0 || begun.elapsed() > BOUND / 3 => break owned,
            Ok(KeepAlive::Live { .. }) => {} // it is not gone yet
            Ok(KeepAlive::Expired) => panic!("the session was lost"),
            Err(_) => failed += 1,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    println!("{failed} keep-alives failed in {:?}", begun.elapsed());
    let successor = sentinels.wait_for_failover().await;
    before.sort();
    owned.sort();
    assert_eq!(owned, before);
    // One that had nothing to do meanwhile finds the new one with its first call, or its second.
    let n = name("new");
    eventually("the idle one is granted a name", async || {
        let answer = idle.backend.acquire(&idle.session, std::slice::from_ref(&n)).await;
        matches!(answer, Ok(Acquired::Answers(answers)) if !matches!(answers[0].1, Acquisition::Failed(_)))
    })
    .await;
    after(sentinels.primary()).await;
    assert_eq!(mine.owned().await.unwrap().len(), 5, "the old one is left alone");
    let kept: u32 = Operator::at(successor.admin_url()).await.ask("EXISTS simba:lease:{new}").await;
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn a_master_that_is_killed_is_replaced_and_calls_go_on() {
    a_master_is_replaced(
        async |master| master.kill().await.unwrap(),
        async |master| master.start_again().await.unwrap(),
    )
    .await;
}

#[tokio::test]
async fn a_master_that_is_stopped_is_replaced_and_calls_go_on() {
    a_master_is_replaced(async |master| master.stop().unwrap(), async |master| master.resume().unwrap())
        .await;
}

/// As the engine does where the renew interval is shorter than the time that a call may take.
#[tokio::test]
async fn a_caller_that_gives_up_before_a_call_does_is_led_to_the_successor_too() {
    let server: Storage = Server::of(Watched::alert().await);
    let sentinels = &server.place.sentinels;
    let mine = Peer::open(server.connect().await, LONG).await;
    mine.granted(&name("n")).await;
    replicated(sentinels.primary()).await;
    sentinels.primary().stop().unwrap();
    let found = timeout(BOUND, async {
        let keep_alive = || mine.backend.keep_alive(&mine.session, LONG);
        while !matches!(timeout(Duration::from_secs(1), keep_alive()).await, Ok(Ok(KeepAlive::Live { .. }))) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    found.await.expect("a call is answered");
    sentinels.primary().resume().unwrap();
}

/// It lives on, and its connections do, too.
#[tokio::test]
async fn a_master_that_becomes_a_replica_is_left() {
    let server: Storage = Server::of(Watched::alert().await);
    let sentinels = &server.place.sentinels;
    let mine = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    let token = mine.granted(&n).await;
    let mut hints = server.connect().await.hints().expect("Redis hints");
    hints.want(&n);
    let mut operator = Operator::at(sentinels.primary().admin_url()).await;
    eventually("it is subscribed to", async || {
        let _ = timeout(Duration::from_millis(20), crate::peer::next(&mut *hints)).await; // it must be polled
        operator.ask::<(String, u32)>("PUBSUB NUMSUB simba:lease:{n}").await.1 == 1
    })
    .await;
    replicated(sentinels.primary()).await;
    sentinels.sentinels()[0].execute(&["SENTINEL", "FAILOVER", "main"]).await.unwrap();
    sentinels.wait_for_failover().await;
    eventually("calls are answered", async || mine.backend.keep_alive(&mine.session, LONG).await.is_ok())
        .await;
    assert_eq!(mine.owned().await.unwrap(), [(n.clone(), token)]);
    mine.release(&n, token).await;
    timeout(BOUND, hinted(&mut *hints, &n)).await.expect("hints come from wherever releases are");
    assert!(mine.granted(&n).await > token);
}

/// Neither a sentinel that does not answer nor one that is gone is waited for.
#[tokio::test]
async fn sentinels_that_do_not_answer_cost_nothing() {
    let server = Storage::fresh().await;
    let sentinels = server.place.sentinels.sentinels();
    sentinels[0].stop().unwrap();
    let begun = now();
    let backend = RedisBackend::connect(&server.url()).await.unwrap();
    println!("connected in {:?} with the first sentinel frozen", begun.elapsed());
    let mine = Peer::open(std::sync::Arc::new(backend), LONG).await;
    let token = mine.granted(&name("n")).await;
    sentinels[1].kill().await.unwrap();
    let begun = now();
    let backend = RedisBackend::connect(&server.url()).await.unwrap();
    println!("connected in {:?} with another one gone", begun.elapsed());
    assert_eq!(backend.inspect(&name("n")).await.unwrap().expect("it is held").token, token);
    sentinels[0].resume().unwrap();
}

/// What no sentinel has to be asked for goes on without any.
#[tokio::test]
async fn with_all_sentinels_gone_clients_that_are_there_go_on() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    for sentinel in server.place.sentinels.sentinels() {
        sentinel.kill().await.unwrap();
    }
    let token = mine.granted(&name("n")).await;
    assert_eq!(mine.owned().await.unwrap(), [(name("n"), token)]);
    let error = RedisBackend::connect(&server.url()).await.unwrap_err();
    assert!(error.to_string().contains("sentinel"), "{error}");
    for sentinel in server.place.sentinels.sentinels() {
        sentinel.start_again().await.unwrap();
    }
    eventually("new ones are let in", async || RedisBackend::connect(&server.url()).await.is_ok()).await;
}
