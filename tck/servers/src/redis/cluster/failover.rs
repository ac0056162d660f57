//! The replacement of a primary by its replica.

use super::{ClusterNode, RedisCluster};
use crate::wait::until;

impl RedisCluster {
    /// Waits until the other one of that pair serves its slots, and for all servers that are there, but for
    /// the one that is replaced, the cluster works again. Returns the new primary.
    ///
    /// # Panics
    /// If that does not come about within a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn wait_for_failover_of(&self, node: &ClusterNode) -> ClusterNode {
        let successor = self.partner_of(node);
        until("the replica has replaced its primary", || async {
            let views = self.views().await;
            let mut others = views.iter().filter(|(viewer, _)| viewer.id() != node.id());
            let there = others.clone().any(|(viewer, _)| viewer.id() == successor.id());
            let known = others.all(|(_, view)| view.works() && view.serves(successor.id()));
            (there && known).then(|| successor.clone())
        })
        .await
    }
}
