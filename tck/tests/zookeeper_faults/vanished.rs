//! Somebody removes what Simba needs.

use std::time::Duration;

use futures_util::future::join_all;
use simba_backends::{Acquisition, BackendError, ErrorKind, LeaseName};
use simba_servers::ZooKeeper;
use tokio::time::sleep;
use zookeeper_client::{Client, Error};

use crate::{
    kit::{attempt, backend, granted, owned},
    peer::{Peer, name, now},
};

const LEASE: Duration = Duration::from_secs(10);

async fn operator(server: &ZooKeeper) -> Client {
    Client::connect(&server.address().to_string()).await.unwrap()
}

/// Removes a node and all in it.
async fn remove(client: &Client, path: &str) {
    for _ in 0..50 {
        match client.delete(path, None).await {
            Err(Error::NotEmpty) => {}
            _ => return,
        }
        for child in client.list_children(path).await.unwrap_or_default() {
            Box::pin(remove(client, &format!("{path}/{child}"))).await;
        }
    }
}

fn is_plain(failure: &BackendError) {
    let plain = matches!(failure.kind(), ErrorKind::Unavailable | ErrorKind::Timeout)
        && failure.to_string().contains("/simba");
    assert!(plain, "{failure}");
}

/// Takes, joins, leaves and gives back, until the time is up. How often it went through.
async fn use_it(peer: &Peer, at: usize, limit: Duration) -> u32 {
    let (n, group) = (name(format!("n-{at}")), "g".parse().unwrap());
    let (begun, mut through) = (now(), 0);
    while begun.elapsed() < limit {
        let joined = peer.backend.join(&peer.session, &group).await;
        let answer = attempt(peer, &n).await;
        let left = peer.backend.leave(&peer.session, &group).await;
        let members = peer.backend.members(&group).await;
        [joined.err(), left.err(), members.err()].iter().flatten().for_each(is_plain);
        match answer {
            Ok(Some(Acquisition::Granted { token, .. } | Acquisition::AlreadyOwned { token, .. })) => {
                let released = peer.backend.release(&peer.session, &[(n.clone(), token)]).await;
                released.err().iter().for_each(is_plain);
                through += 1;
            }
            Ok(Some(Acquisition::Failed(failure))) | Err(failure) => is_plain(&failure),
            Ok(Some(Acquisition::Held { .. })) => {}
            Ok(None) => panic!("the session has ended"),
        }
        owned(peer).await;
    }
    through
}

#[tokio::test]
async fn parents_removed_in_a_loop_are_made_again_and_nothing_is_wedged() {
    let server = ZooKeeper::start().await;
    let (operator, backend) = (operator(&server).await, backend(server.url()).await);
    let peers = join_all((0..4).map(|_| Peer::open(backend.clone(), LEASE))).await;
    let removals = async {
        for path in
            ["/simba/leases", "/simba/groups/g", "/simba/groups", "/simba/sessions", "/simba"].iter().cycle()
        {
            remove(&operator, path).await;
            sleep(Duration::from_millis(3)).await;
        }
    };
    let uses = join_all(peers.iter().enumerate().map(|(at, peer)| use_it(peer, at, Duration::from_secs(3))));
    let through = tokio::select! {
        through = uses => through,
        () = removals => unreachable!("it goes on for ever"),
    };
    assert!(through.iter().all(|through| *through > 0), "{through:?}");
    let group = "h".parse().unwrap();
    for (at, peer) in peers.iter().enumerate() {
        let n: LeaseName = name(format!("after-{at}"));
        let token = granted(peer, &n).await;
        assert!(owned(peer).await.contains(&(n.clone(), token)));
        peer.backend.join(&peer.session, &group).await.unwrap();
        peer.release(&n, token).await;
    }
    assert_eq!(backend.members(&group).await.unwrap().len(), peers.len());
}

#[tokio::test]
async fn a_lease_removed_from_outside_ends_its_term_at_the_next_keep_alive() {
    let server = ZooKeeper::start().await;
    let (operator, backend) = (operator(&server).await, backend(server.url()).await);
    let (mine, other) = (Peer::open(backend.clone(), LEASE).await, Peer::open(backend, LEASE).await);
    let n = name("n");
    let token = granted(&mine, &n).await;
    remove(&operator, "/simba/leases").await;
    assert_eq!(owned(&mine).await, []);
    let next = granted(&other, &n).await;
    assert!(next > token);
    // It is not deleted by who has lost it.
    mine.release(&n, token).await;
    assert_eq!(owned(&other).await, [(n, next)]);
}
