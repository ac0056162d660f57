//! Redis in a cluster.

mod failover;
mod migration;
mod node;
mod setup;
mod slot;
mod view;

use std::sync::Arc;

use self::setup::PRIMARIES;
pub use self::{migration::Migration, node::ClusterNode};
use super::{launch, way::Way};
use crate::{Options, wait::until};

/// A Redis Cluster of three primaries with a replica each, that shares nothing with other tests: always servers
/// of ours, also where there are servers of your own.
///
/// A primary that has been away for a second is replaced (`cluster-node-timeout`); the replica may be as far
/// behind as it likes. Which user may do what is as for [`Redis`](crate::Redis).
#[derive(Clone, Debug)]
pub struct RedisCluster {
    /// Those that begin as primaries, then their replicas in the same order.
    nodes: Arc<[ClusterNode]>,
    url: String,
    admin_url: String,
}

impl RedisCluster {
    /// One as usual.
    ///
    /// # Panics
    /// If Redis is not there, or it is no cluster within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn start() -> Self {
        Self::with(Options::new()).await
    }

    /// One whose servers have settings of their own, say another `cluster-node-timeout`.
    ///
    /// # Panics
    /// If Redis is not there, or it is no cluster within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with(options: Options) -> Self {
        Self::of(&options, Way::Direct).await
    }

    /// One with a [proxy](ClusterNode::proxy) before each server. Clients are led to the proxies, also by the
    /// cluster itself, and replicas replicate through that of their primary. What the servers say to one another
    /// to find out who is there goes another way.
    ///
    /// # Panics
    /// If Redis is not there, or it is no cluster within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn behind_proxies() -> Self {
        Self::behind_proxies_with(Options::new()).await
    }

    /// Both [`behind_proxies`](Self::behind_proxies) and [`with`](Self::with) settings.
    ///
    /// # Panics
    /// If Redis is not there, or it is no cluster within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn behind_proxies_with(options: Options) -> Self {
        Self::of(&options, Way::Proxied).await
    }

    /// How the tested program finds it: three addresses, of the primaries as it was started.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How its administrator finds it.
    pub fn admin_url(&self) -> &str {
        &self.admin_url
    }

    /// All servers: those that began as primaries, then their replicas in the same order.
    pub fn nodes(&self) -> &[ClusterNode] {
        &self.nodes
    }

    /// The slot of a key.
    pub fn slot_of(key: &str) -> u16 {
        slot::of(key)
    }

    /// Asks the cluster who serves a key now.
    ///
    /// # Panics
    /// If nobody does for a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn primary_of(&self, key: &str) -> ClusterNode {
        self.primary_of_slot(slot::of(key)).await
    }

    /// Asks the cluster who serves a slot now.
    ///
    /// # Panics
    /// If nobody does for a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn primary_of_slot(&self, slot: u16) -> ClusterNode {
        until("a server serves the slot", || async {
            let views = self.views().await;
            let serving = views.iter().flat_map(|(_, view)| view.primaries()).filter(|one| one.has(slot));
            let latest = serving.max_by_key(|one| one.epoch)?;
            self.node(&latest.id).cloned()
        })
        .await
    }

    /// The other one of a primary and its replica, whichever is which now.
    pub fn partner_of(&self, node: &ClusterNode) -> &ClusterNode {
        let index = self.nodes.iter().position(|one| one.id() == node.id());
        &self.nodes[(index.expect("it is a node of this cluster") + PRIMARIES) % self.nodes.len()]
    }

    /// Waits until all servers are there and know one another, and each replica is in step.
    ///
    /// # Panics
    /// If that does not come about within a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn wait_until_whole(&self) {
        until("the cluster is whole", || async {
            let views = self.views().await;
            let whole = views.len() == self.nodes.len() && views.iter().all(|(_, view)| view.is_whole());
            (whole && self.replicas_are_in_step().await).then_some(())
        })
        .await;
    }

    async fn of(options: &Options, way: Way) -> Self {
        let nodes = setup::start(options, way).await;
        let announced: Vec<_> = nodes[..PRIMARIES].iter().map(ClusterNode::announced).collect();
        let (url, admin_url) = launch::urls("redis+cluster", &announced);
        let cluster = Self { nodes: nodes.into(), url, admin_url };
        cluster.wait_until_whole().await;
        setup::settle(cluster.nodes(), options).await;
        cluster
    }

    fn node(&self, id: &str) -> Option<&ClusterNode> {
        self.nodes.iter().find(|node| node.id() == id)
    }
}
