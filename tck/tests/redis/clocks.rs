//! A server's clock that steps, or is wrong all along.

use std::{sync::Arc, time::Duration};

use simba_actors::{Simba, SimbaConfig, SimbaEvent};
use simba_servers::Offset;
use simba_tck::Fixture;
use tokio::time::{sleep, timeout};

use crate::{
    Storage,
    peer::{BOUND, LONG, Peer, name},
};

const HOUR: Duration = Duration::from_secs(3600);

/// Only durations leave the server.
#[tokio::test]
async fn a_clock_that_is_an_hour_off_all_along_does_not_matter() {
    for offset in [Offset::Ahead(HOUR), Offset::Behind(HOUR)] {
        let server = Storage::fresh().await;
        server.place.redis.step_clock(offset).unwrap();
        let lease = Duration::from_secs(2);
        let mine = Peer::open(server.connect().await, lease).await;
        let other = Peer::open(server.connect().await, LONG).await;
        let n = name("n");
        let token = mine.granted(&n).await;
        for _ in 0..4 {
            sleep(lease / 4).await;
            assert_eq!(mine.owned().await.expect("it is kept alive").len(), 1);
            let free_in = other.holder(&n).await.expect("it is held").free_in.expect("it is known");
            assert!(free_in <= lease, "{free_in:?}");
        }
        sleep(lease * 5 / 4).await;
        assert!(other.granted(&n).await > token);
        assert_eq!(mine.owned().await, None);
    }
}

#[tokio::test]
async fn a_clock_an_hour_ahead_from_now_on_expires_all_and_tokens_rise() {
    let server = Storage::fresh().await;
    let lease = Duration::from_secs(60);
    let (mine, other) =
        (Peer::open(server.connect().await, lease).await, Peer::open(server.connect().await, lease).await);
    let n = name("n");
    let token = mine.granted(&n).await;
    server.place.redis.step_clock(Offset::Ahead(HOUR)).unwrap();
    assert_eq!(mine.owned().await, None);
    assert_eq!(other.owned().await, None);
    let next = Peer::open(server.connect().await, lease).await;
    assert!(next.granted(&n).await > token);
    assert_eq!(next.owned().await.unwrap().len(), 1);
}

/// What stood until an hour from now stands until two hours from now: the holder's keep-alives bring its lease no
/// nearer, so that it is held, never granted twice; its end frees it.
#[tokio::test]
async fn a_clock_an_hour_back_from_now_on_grants_nothing_twice() {
    let server = Storage::fresh().await;
    let lease = Duration::from_secs(60);
    let (mine, other) =
        (Peer::open(server.connect().await, lease).await, Peer::open(server.connect().await, lease).await);
    let n = name("n");
    let token = mine.granted(&n).await;
    server.place.redis.step_clock(Offset::Behind(HOUR)).unwrap();
    assert!(other.is_held(&n).await);
    assert_eq!(mine.owned().await.unwrap(), [(n.clone(), token)]);
    mine.backend.close_session(&mine.session).await.unwrap();
    assert!(other.granted(&n).await > token);
    assert_eq!(other.owned().await.unwrap().len(), 1);
}

#[tokio::test]
#[expect(clippy::wildcard_enum_match_arm, reason = "the other events are not looked at")]
async fn a_step_revokes_is_told_and_tokens_rise() {
    let server = Storage::fresh().await;
    let config = SimbaConfig::builder().lease(Duration::from_secs(3)).build().unwrap();
    let simba = Simba::builder().backend(Arc::new(server.backend().await)).config(config);
    let simba = simba.connect().await.unwrap();
    let mut events = simba.events();
    let job = simba.election("job").unwrap().run_while_leader(|_| std::future::pending::<()>());
    let _job = job.await.unwrap();
    let (mut seen, mut first) = (Vec::new(), None);
    loop {
        let event = timeout(BOUND, events.next()).await.expect("something happens").expect("it is open");
        match &event {
            SimbaEvent::Elected { token, .. } => match first {
                None => {
                    first = Some(*token);
                    server.place.redis.step_clock(Offset::Ahead(HOUR)).unwrap();
                }
                Some(first) => {
                    assert!(*token > first, "{token} after {first}");
                    break;
                }
            },
            SimbaEvent::Revoked { .. } => seen.push("revoked"),
            SimbaEvent::ClockStep { .. } => seen.push("step"),
            _ => {}
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, ["revoked", "step"]);
    simba.close().await.unwrap();
}
