//! Which of the three has a key, as long as no slot moves.

use std::{sync::Arc, time::Duration};

use simba_backends::{LeaseBackend, LeaseName};
use simba_servers::{ClusterNode, RedisCluster};

use crate::{
    peer::{Peer, name},
    redis_kit::{keys, operator::Operator},
};

/// The place of a key's server among those that began as primaries.
pub(crate) fn place_of(key: &str) -> usize {
    match RedisCluster::slot_of(key) {
        0..=5460 => 0,
        5461..=10_922 => 1,
        _ => 2,
    }
}

/// So many names whose leases are there.
pub(crate) fn names_at(place: usize, count: usize) -> Vec<LeaseName> {
    let all = (0..).map(|number| name(format!("n{number}")));
    all.filter(|name| place_of(&keys::lease(name)) == place).take(count).collect()
}

/// So many names whose leases share a slot.
pub(crate) fn names_of_one_slot(count: usize) -> Vec<LeaseName> {
    let slot = RedisCluster::slot_of(&keys::lease("n0"));
    let all = (0..).map(|number| name(format!("n{number}")));
    all.filter(|name| RedisCluster::slot_of(&keys::lease(name)) == slot).take(count).collect()
}

/// A session whose record is there.
pub(crate) async fn session_at(backend: &Arc<dyn LeaseBackend>, place: usize, lease: Duration) -> Peer {
    for _ in 0..1000 {
        let peer = Peer::open(backend.clone(), lease).await;
        if place_of(&keys::session(&peer.session)) == place {
            return peer;
        }
        backend.close_session(&peer.session).await.unwrap();
    }
    panic!("no session of a thousand is at place {place}");
}

/// Waits until the replica has all that a server has done so far.
pub(crate) async fn replicated(node: &ClusterNode, place: usize) {
    let mut operator = Operator::at(node.admin_url()).await;
    operator.run(&format!("SET fence:{{{}}} 1", names_at(place, 1)[0])).await;
    assert_eq!(operator.ask::<u32>("WAIT 1 30000").await, 1);
}
