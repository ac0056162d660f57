//! A server whose clock is an hour off all along: only durations travel.

use std::time::Duration;

use simba_backends::{Acquisition, KeepAlive};
use simba_servers::Offset;
use simba_tck::Fixture;
use tokio::time::sleep;

use crate::{
    Storage,
    peer::{BOUND, LONG, Peer, now},
    places::{names_at, session_at},
};

const HOUR: Duration = Duration::from_secs(3600);
const LEASE: Duration = Duration::from_secs(2);

/// Keeps a lease for a while, dies, and tells that it could be taken neither early nor never.
async fn holds_as_long_as_told(mine: Peer, other: Peer, place: usize) {
    let n = names_at(place, 40).remove(usize::from(mine.session.as_str().as_bytes()[0]) % 40);
    let token = mine.granted(&n).await;
    let (mut sent, mut remaining) = (now(), Duration::ZERO);
    for _ in 0..5 {
        sleep(LEASE / 4).await;
        sent = now();
        match mine.backend.keep_alive(&mine.session, LEASE).await.unwrap() {
            KeepAlive::Live { remaining: left, owned, unknown, .. } => {
                assert_eq!((owned, unknown), (vec![(n.clone(), token)], vec![]));
                remaining = left;
            }
            KeepAlive::Expired => panic!("it was kept alive"),
        }
        let free_in = other.holder(&n).await.expect("it is held").free_in.expect("it is known");
        assert!(free_in <= LEASE, "{free_in:?}");
    }
    loop {
        match other.acquire(&n).await {
            Acquisition::Granted { token: next, .. } => {
                assert!(next > token);
                break;
            }
            Acquisition::Held { free_in } => assert!(free_in.unwrap() <= LEASE),
            other => panic!("{other:?}"),
        }
        assert!(sent.elapsed() < BOUND, "it is never free");
        sleep(Duration::from_millis(10)).await;
    }
    let after = sent.elapsed();
    println!("taken {after:?} after the last keep-alive of {LEASE:?}");
    assert!(after >= remaining, "taken after {after:?}, and the holder trusted it for {remaining:?}");
    assert_eq!(mine.owned().await, None);
}

async fn one_clock_is_off(offset: Offset) {
    let server = Storage::fresh().await;
    server.place.cluster.nodes()[1].step_clock(offset).unwrap();
    let backend = server.connect().await;
    let mut tests = tokio::task::JoinSet::new();
    // A session there and its lease elsewhere, the other way round, and both there.
    for (session, lease) in [(1, 0), (0, 1), (1, 1), (2, 0)] {
        let mine = session_at(&backend, session, LEASE).await;
        let other = session_at(&backend, 2, LONG).await;
        tests.spawn(holds_as_long_as_told(mine, other, lease));
    }
    tests.join_all().await;
}

#[tokio::test]
async fn a_server_an_hour_ahead_shortens_no_lease_and_lengthens_none() {
    one_clock_is_off(Offset::Ahead(HOUR)).await;
}

#[tokio::test]
async fn a_server_an_hour_behind_shortens_no_lease_and_lengthens_none() {
    one_clock_is_off(Offset::Behind(HOUR)).await;
}
