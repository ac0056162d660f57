//! Primaries that are killed or stopped, and replaced.

use simba_servers::ClusterNode;
use simba_tck::Fixture;
use tokio::time::timeout;

use crate::{
    Storage,
    peer::{BOUND, LONG, eventually, now},
    places::{names_at, replicated, session_at},
    redis_kit::{fixture::Server, ways::Clustered},
    traffic::{Traffic, taken},
};

#[derive(Clone, Copy, Debug)]
enum End {
    Killed,
    Stopped,
}

impl End {
    async fn bring(self, node: &ClusterNode) {
        match self {
            Self::Killed => node.kill().await.unwrap(),
            Self::Stopped => node.stop().unwrap(),
        }
    }

    async fn undo(self, node: &ClusterNode) {
        match self {
            Self::Killed => node.start_again().await.unwrap(),
            Self::Stopped => node.resume().unwrap(),
        }
    }
}

/// The server at place 1 ends; the session is at `home`.
async fn a_primary_ends(end: End, home: usize) {
    let server: Storage = Server::of(Clustered::alert().await);
    let nodes = server.place.cluster.nodes();
    let backend = server.connect().await;
    let mine = session_at(&backend, home, LONG).await;
    let rival = session_at(&server.connect().await, 0, LONG).await;
    let names = [names_at(0, 2), names_at(1, 2), names_at(2, 2)].concat();
    let held = taken(&mine, &names).await;
    replicated(&nodes[1], 1).await;
    let traffic = Traffic::begin(&mine, &rival, &held);
    let begun = now();
    end.bring(&nodes[1]).await;
    let fresh = names_at(2, 3).remove(2);
    let elsewhere = timeout(BOUND, rival.granted(&fresh)).await.expect("others are not held up");
    println!("{end:?}: a name elsewhere is granted within {:?}", begun.elapsed());
    rival.release(&fresh, elsewhere).await;
    server.place.cluster.wait_for_failover_of(&nodes[1]).await;
    let replaced = begun.elapsed();
    eventually("all is told of again", async || {
        let answer = mine.backend.keep_alive(&mine.session, LONG).await;
        matches!(answer, Ok(simba_backends::KeepAlive::Live { unknown, .. }) if unknown.is_empty())
    })
    .await;
    println!("{end:?}: replaced after {replaced:?}, all told of after {:?}", begun.elapsed());
    let fresh = names_at(1, 3).remove(2);
    eventually("new names are granted there", async || {
        let answer = rival.backend.acquire(&rival.session, std::slice::from_ref(&fresh)).await;
        matches!(answer, Ok(simba_backends::Acquired::Answers(answers))
            if !matches!(answers[0].1, simba_backends::Acquisition::Failed(_)))
    })
    .await;
    end.undo(&nodes[1]).await;
    server.place.cluster.wait_until_whole().await;
    println!("{end:?}: {:?}", traffic.end().await);
    let mut owned = mine.owned().await.unwrap();
    owned.sort();
    assert_eq!(owned, held);
}

#[tokio::test]
async fn a_killed_primary_with_leases_is_replaced_and_no_term_is_lost() {
    a_primary_ends(End::Killed, 0).await;
}

#[tokio::test]
async fn a_stopped_primary_with_leases_is_replaced_and_no_term_is_lost() {
    a_primary_ends(End::Stopped, 0).await;
}

#[tokio::test]
async fn a_killed_primary_with_the_session_is_replaced_and_no_term_is_lost() {
    a_primary_ends(End::Killed, 1).await;
}

/// The server that a subscription is on may be any of them.
#[tokio::test]
async fn hints_come_back_whichever_server_ends() {
    let server: Storage = Server::of(Clustered::alert().await);
    let backend = server.connect().await;
    let mine = session_at(&server.connect().await, 0, LONG).await;
    let mut hints = backend.hints().expect("Redis hints");
    let n = names_at(0, 1).remove(0);
    let mut token = mine.granted(&n).await;
    hints.want(&n);
    for node in &server.place.cluster.nodes()[1..3] {
        replicated(node, if node.id() == server.place.cluster.nodes()[1].id() { 1 } else { 2 }).await;
        node.kill().await.unwrap();
        server.place.cluster.wait_for_failover_of(node).await;
        eventually("it is hinted", async || {
            mine.release(&n, token).await;
            let heard = timeout(BOUND / 30, crate::peer::hinted(&mut *hints, &n)).await.is_ok();
            token = mine.granted(&n).await;
            heard
        })
        .await;
        node.start_again().await.unwrap();
        server.place.cluster.wait_until_whole().await;
    }
}
