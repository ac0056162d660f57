//! A release that was sent to a server which then stood still, and arrives when others have the names.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use simba_backends::{Acquired, Acquisition, KeepAlive, LeaseBackend, LeaseName, Token};
use simba_servers::{Options, ZooKeeperEnsemble};
use tokio::time::sleep;

use crate::{
    kit::{backend, open, owned},
    peer::{Peer, eventually, name},
};

/// Its server is missed after a third of it, and so before its server is missed by the others.
const LEASE: Duration = Duration::from_millis(2400);

/// Sessions that release all that they have, and how much that is.
const SESSIONS: usize = 16;
const NAMES: usize = 20;

/// Releases until nothing is left, as the engine does.
async fn release_all(peer: &Peer, leases: &[(LeaseName, Token)]) {
    let mut left = leases.to_vec();
    loop {
        // What failed may have taken effect: the next keep-alive tells.
        let _ = peer.backend.release(&peer.session, &left).await;
        match peer.backend.keep_alive(&peer.session, peer.lease).await {
            Ok(KeepAlive::Live { owned, .. }) => left = owned,
            // It has nothing any more.
            Ok(KeepAlive::Expired) => return,
            Err(_) => continue,
        }
        if left.is_empty() {
            return;
        }
    }
}

/// Takes all of them as soon as each is free.
async fn take_all(peer: &Peer, names: &[LeaseName]) -> Vec<(LeaseName, Token)> {
    let (mut left, mut taken) = (names.to_vec(), Vec::new());
    eventually("all have been released", async || {
        let answers = peer.backend.acquire(&peer.session, &left).await;
        let Ok(Acquired::Answers(answers)) = answers else { return false };
        for (name, answer) in answers {
            if let Acquisition::Granted { token, .. } = answer {
                left.retain(|other| *other != name);
                taken.push((name, token));
            }
        }
        left.is_empty()
    })
    .await;
    taken.sort();
    taken
}

async fn holder(backend: Arc<dyn LeaseBackend>, at: usize) -> (Peer, Vec<(LeaseName, Token)>) {
    let peer = Peer::open(backend, LEASE).await;
    let names: Vec<_> = (0..NAMES).map(|number| name(format!("n-{at}-{number}"))).collect();
    let taken = take_all(&peer, &names).await;
    (peer, taken)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_was_given_up_never_deletes_the_lease_of_the_next_holder() {
    let ensemble = ZooKeeperEnsemble::with(Options::new().set("syncLimit", "8")).await;
    let [a, b] = &ensemble.followers().await[..] else { panic!("two servers follow") };
    let of_next = open(ensemble.leader().await.url(), Duration::from_secs(10)).await;
    let url = format!("zookeeper://{},{}", a.address(), b.address());
    for round in 0..4 {
        let backend = backend(&url).await;
        let holders = join_all((0..SESSIONS).map(|at| holder(backend.clone(), at))).await;
        let names: Vec<LeaseName> =
            holders.iter().flat_map(|(_, leases)| leases).map(|(name, _)| name.clone()).collect();
        let releases = join_all(holders.iter().map(|(peer, leases)| release_all(peer, leases)));
        let stands_still = async {
            sleep(Duration::from_millis(2 + 3 * round)).await;
            a.stop().unwrap();
            let taken = take_all(&of_next, &names).await;
            a.resume().unwrap();
            taken
        };
        let (_, taken) = tokio::join!(releases, stands_still);
        // What was held back has arrived by then.
        join_all(holders.iter().map(|(peer, _)| peer.backend.close_session(&peer.session))).await;
        ensemble.wait_until_whole().await;
        sleep(Duration::from_millis(300)).await;
        let mut kept = owned(&of_next).await;
        kept.sort();
        assert_eq!(kept, taken, "in round {round}");
        of_next.backend.release(&of_next.session, &taken).await.unwrap();
    }
}
