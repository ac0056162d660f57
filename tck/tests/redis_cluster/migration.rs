//! Slots that move while what they have is held.

use std::time::Duration;

use simba_backends::KeepAlive;
use simba_servers::RedisCluster;
use simba_tck::Fixture;
use tokio::time::sleep;

use crate::{
    Storage,
    peer::{LONG, eventually, name},
    places::{names_of_one_slot, place_of, session_at},
    redis_kit::keys,
    traffic::{Traffic, taken},
};

/// Long enough for each of the calls to come by.
const A_WHILE: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_slot_with_leases_moves_while_they_are_held() {
    let server = Storage::fresh().await;
    let cluster = &server.place.cluster;
    let backend = server.connect().await;
    let names = names_of_one_slot(3);
    let key = keys::lease(&names[0]);
    let home = (place_of(&key) + 1) % 3;
    let mine = session_at(&backend, home, LONG).await;
    let rival = session_at(&server.connect().await, home, LONG).await;
    let held = taken(&mine, &names).await;
    let traffic = Traffic::begin(&mine, &rival, &held);
    let to = &cluster.nodes()[(place_of(&key) + 2) % 3];
    let migration = cluster.begin_migration(RedisCluster::slot_of(&key), to).await;
    sleep(A_WHILE).await;
    for key in migration.keys_left().await {
        migration.move_keys(&[&key]).await;
        // With one of several moved, the others' servers say TRYAGAIN.
        sleep(A_WHILE).await;
    }
    migration.end().await;
    sleep(A_WHILE).await;
    println!("{:?}", traffic.end().await);
    let mut owned = mine.owned().await.unwrap();
    owned.sort();
    assert_eq!(owned, held);
    assert_eq!(cluster.primary_of(&key).await.id(), to.id());
    mine.backend.release(&mine.session, &held).await.unwrap();
    for ((name, token), (_, before)) in taken(&rival, &names).await.iter().zip(&held) {
        assert!(token > before, "{name}");
    }
}

#[tokio::test]
async fn a_slot_with_a_session_moves_while_it_holds_leases() {
    let server = Storage::fresh().await;
    let cluster = &server.place.cluster;
    let backend = server.connect().await;
    let mine = session_at(&backend, 0, LONG).await;
    let rival = session_at(&server.connect().await, 1, LONG).await;
    let held = taken(&mine, &["a", "b", "c", "d"].map(name)).await;
    mine.backend.join(&mine.session, &"g".parse().unwrap()).await.unwrap();
    let traffic = Traffic::begin(&mine, &rival, &held);
    let slot = RedisCluster::slot_of(&keys::session(&mine.session));
    let migration = cluster.begin_migration(slot, &cluster.nodes()[2]).await;
    sleep(A_WHILE).await;
    for key in migration.keys_left().await {
        migration.move_keys(&[&key]).await;
        sleep(A_WHILE).await;
    }
    migration.end().await;
    sleep(A_WHILE).await;
    println!("{:?}", traffic.end().await);
    eventually("all is as before", async || {
        match mine.backend.keep_alive(&mine.session, LONG).await.unwrap() {
            KeepAlive::Live { mut owned, groups, .. } => {
                owned.sort();
                owned == held && groups.len() == 1
            }
            KeepAlive::Expired => panic!("the session was lost"),
        }
    })
    .await;
    let late = taken(&mine, &[name("late")]).await;
    assert_eq!(late.len(), 1);
}

/// A client that knows nothing of the move yet, and one whose first call comes in the midst of it.
#[tokio::test]
async fn clients_find_a_slot_that_moved_before_their_first_call() {
    let server = Storage::fresh().await;
    let cluster = &server.place.cluster;
    let n = names_of_one_slot(1).remove(0);
    let key = keys::lease(&n);
    let slow = server.connect().await;
    let mine = session_at(&server.connect().await, 2, LONG).await;
    let held = taken(&mine, std::slice::from_ref(&n)).await;
    let migration = cluster
        .begin_migration(RedisCluster::slot_of(&key), &cluster.nodes()[(place_of(&key) + 1) % 3])
        .await;
    migration.move_keys(&[&key]).await;
    let during = session_at(&server.connect().await, 2, LONG).await;
    assert!(during.is_held(&n).await);
    migration.end().await;
    let after = session_at(&slow, 2, LONG).await;
    assert!(after.is_held(&n).await);
    mine.backend.release(&mine.session, &held).await.unwrap();
    assert!(after.granted(&n).await > held[0].1);
}

/// A session that is in no group has no key for them, and one that holds nothing no key for its leases. What of a slot
/// on the move is not there is asked for at its new server, and not together with what is.
#[tokio::test]
async fn keep_alives_and_closes_go_on_while_a_slot_stays_on_the_move() {
    let server = Storage::fresh().await;
    let cluster = &server.place.cluster;
    let backend = server.connect().await;
    for holds in [true, false] {
        let mine = session_at(&backend, 0, LONG).await;
        let held = if holds { taken(&mine, &[name("kept")]).await } else { Vec::new() };
        let slot = RedisCluster::slot_of(&keys::session(&mine.session));
        let migration = cluster.begin_migration(slot, &cluster.nodes()[1]).await;
        assert_eq!(mine.owned().await.expect("it is kept alive"), held);
        for key in migration.keys_left().await {
            migration.move_keys(&[&key]).await;
            assert_eq!(mine.owned().await.expect("it is kept alive"), held);
        }
        mine.backend.close_session(&mine.session).await.expect("it is closed");
        assert_eq!(mine.owned().await, None, "a session that was closed is expired");
        migration.end().await;
        let next = session_at(&backend, 0, LONG).await;
        assert!(next.granted(&name("kept")).await.get() >= 1);
        next.backend.close_session(&next.session).await.expect("it is closed");
    }
}
