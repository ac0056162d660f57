//! One server of a cluster.

use std::{net::SocketAddr, sync::Arc};

use crate::{
    Lacking, Proxy,
    instance::{Instance, verbs},
    port::Port,
    redis::administered::{administered, replicated},
};

/// A server of a [`RedisCluster`](crate::RedisCluster). Its URLs lead to it alone, and around its proxy.
#[derive(Clone, Debug)]
pub struct ClusterNode {
    pub(super) id: Arc<str>,
    pub(super) instance: Arc<Instance>,
    pub(super) proxy: Option<Arc<Proxy>>,
    /// Where servers speak to one another.
    pub(super) bus: Arc<Port>,
}

verbs!(ClusterNode);
administered!(ClusterNode);
replicated!(ClusterNode);

impl ClusterNode {
    /// What it is called in the cluster.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where the cluster leads clients to: its proxy if it has one.
    pub fn announced(&self) -> SocketAddr {
        self.proxy.as_ref().map_or(self.address(), |proxy| proxy.address())
    }

    /// The way of clients and of replicas to it.
    ///
    /// # Errors
    /// Why it has none.
    pub fn proxy(&self) -> Lacking<Arc<Proxy>> {
        self.proxy.clone().ok_or("this cluster was not started behind proxies")
    }
}
