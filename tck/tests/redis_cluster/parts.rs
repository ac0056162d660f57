//! One server of the three that does not answer.

use std::time::Duration;

use simba_backends::{Acquisition, KeepAlive, LeaseName};
use simba_tck::Fixture;
use tokio::time::timeout;

use crate::{
    Storage,
    peer::{BOUND, LONG, Peer, eventually, now},
    places::{names_at, session_at},
};

/// What a keep-alive tells: held and unknown.
async fn told(peer: &Peer) -> (Vec<LeaseName>, Vec<LeaseName>) {
    match peer.backend.keep_alive(&peer.session, peer.lease).await.unwrap() {
        KeepAlive::Live { owned, mut unknown, .. } => {
            let mut owned: Vec<_> = owned.into_iter().map(|(name, _)| name).collect();
            owned.sort();
            unknown.sort();
            (owned, unknown)
        }
        KeepAlive::Expired => panic!("{} has expired", peer.session),
    }
}

#[tokio::test]
async fn names_at_a_silent_server_are_unknown_and_all_others_go_on() {
    let server = Storage::fresh().await;
    let backend = server.connect().await;
    let mine = session_at(&backend, 0, LONG).await;
    let (mut here, mut there) = (names_at(0, 3), names_at(1, 3));
    here.sort();
    there.sort();
    mine.acquire_all(&[here.clone(), there.clone()].concat()).await;
    let proxy = server.place.cluster.nodes()[1].proxy().unwrap();
    for silent in [true, false] {
        if silent {
            proxy.black_hole().await;
        } else {
            proxy.refuse().await;
        }
        let begun = now();
        let (owned, unknown) = told(&mine).await;
        // What was asked for in vain may be held, too.
        assert!(there.iter().all(|name| unknown.contains(name) && !owned.contains(name)), "{unknown:?}");
        assert_eq!(owned, here);
        println!("a keep-alive beside a server that does not answer: {:?}", begun.elapsed());
        let (fresh, lost) = (names_at(0, 5).split_off(3 + usize::from(silent)), names_at(1, 5).split_off(4));
        let asked = [&fresh[..1], &lost[..]].concat();
        for (name, answer) in timeout(BOUND, mine.acquire_all(&asked)).await.expect("it is answered") {
            match answer {
                Acquisition::Granted { token, .. } => {
                    assert!(fresh.contains(&name), "{name}");
                    mine.release(&name, token).await;
                }
                Acquisition::Failed(_) => assert!(lost.contains(&name), "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        proxy.heal().await;
        eventually("all are told of", async || told(&mine).await.1.is_empty()).await;
    }
    let (owned, _) = told(&mine).await;
    assert!(here.iter().chain(&there).all(|name| owned.contains(name)), "{owned:?}");
}

#[tokio::test]
async fn a_session_at_a_silent_server_is_neither_lost_nor_kept() {
    let server = Storage::fresh().await;
    let backend = server.connect().await;
    let (mine, other) = (session_at(&backend, 0, LONG).await, session_at(&backend, 1, LONG).await);
    let (n, m) = (names_at(2, 2).remove(0), names_at(2, 2).remove(1));
    let token = mine.granted(&n).await;
    let proxy = server.place.cluster.nodes()[0].proxy().unwrap();
    proxy.black_hole().await;
    mine.backend.keep_alive(&mine.session, LONG).await.unwrap_err();
    let acquire = mine.backend.acquire(&mine.session, std::slice::from_ref(&m)).await;
    acquire.map(|_| ()).unwrap_err();
    assert!(other.is_held(&n).await);
    other.granted(&m).await;
    assert_eq!(other.owned().await.unwrap().len(), 1);
    proxy.heal().await;
    eventually("it is kept alive", async || {
        let answer = mine.backend.keep_alive(&mine.session, LONG).await;
        answer.is_ok_and(
            |answer| matches!(answer, KeepAlive::Live { owned, .. } if owned == [(n.clone(), token)]),
        )
    })
    .await;
}

/// The lease's server carries out what was asked for long ago, when the session is dead.
#[tokio::test]
async fn a_grant_that_comes_when_its_session_is_dead_ends_by_itself_within_a_lease() {
    let server = Storage::fresh().await;
    let backend = server.connect().await;
    let lease = Duration::from_secs(3);
    let (mine, other) = (session_at(&backend, 0, lease).await, session_at(&backend, 2, LONG).await);
    let n = names_at(1, 1).remove(0);
    // So that the calls have a connection there.
    let token = mine.granted(&n).await;
    mine.release(&n, token).await;
    let proxy = server.place.cluster.nodes()[1].proxy().unwrap();
    proxy.black_hole().await;
    let answers = mine.acquire_all(std::slice::from_ref(&n)).await;
    assert!(matches!(answers[..], [(_, Acquisition::Failed(_))]), "{answers:?}");
    tokio::time::sleep(lease * 5 / 4).await;
    assert_eq!(mine.owned().await, None);
    proxy.heal().await;
    let healed = now();
    let mut longest = Duration::ZERO;
    let taken = timeout(BOUND, async {
        loop {
            match other.backend.acquire(&other.session, std::slice::from_ref(&n)).await {
                Ok(simba_backends::Acquired::Answers(answers)) => match &answers[0].1 {
                    Acquisition::Granted { .. } => return,
                    Acquisition::Held { free_in } => longest = longest.max(free_in.unwrap()),
                    Acquisition::Failed(_) => {}
                    other => panic!("{other:?}"),
                },
                other => println!("{other:?}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    taken.await.expect("it can be taken");
    assert!(longest <= lease, "the dead hold it for {longest:?}");
    println!("taken {:?} after the late grant, of which the dead held {longest:?}", healed.elapsed());
}
