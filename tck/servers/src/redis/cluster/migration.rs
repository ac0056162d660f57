//! A slot on its way from one primary to another.

use std::collections::BTreeSet;

use redis::FromRedisValue;

use super::{ClusterNode, RedisCluster, view::View};
use crate::{ADMIN_PASSWORD, wait::until};

/// More keys than a test has in one slot.
const ALL: &str = "1000000";

/// For a key to arrive, in milliseconds.
const PATIENCE: &str = "10000";

/// A slot that both know to be on its way: for keys that are there no more, the old primary answers `ASK`; for
/// several of which only some are, `TRYAGAIN`.
#[derive(Debug)]
pub struct Migration {
    cluster: RedisCluster,
    slot: u16,
    from: ClusterNode,
    to: ClusterNode,
}

impl RedisCluster {
    /// Moves a slot with all its keys.
    ///
    /// # Panics
    /// If a server does not take its order, or not all know it within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, it stays where it is in that.
    pub async fn migrate(&self, slot: u16, to: &ClusterNode) {
        let migration = self.begin_migration(slot, to).await;
        let keys = migration.keys_left().await;
        migration.move_keys(&keys.iter().map(String::as_str).collect::<Vec<_>>()).await;
        migration.end().await;
    }

    /// Tells the primary of a slot, and another one, that it is on its way to that.
    ///
    /// # Panics
    /// If one does not take its order.
    ///
    /// # Cancel safety
    /// Cancelled, none, one or both may know.
    pub async fn begin_migration(&self, slot: u16, to: &ClusterNode) -> Migration {
        let from = self.primary_of_slot(slot).await;
        let number = slot.to_string();
        to.order(&["CLUSTER", "SETSLOT", &number, "IMPORTING", from.id()]).await;
        from.order(&["CLUSTER", "SETSLOT", &number, "MIGRATING", to.id()]).await;
        Migration { cluster: self.clone(), slot, from, to: to.clone() }
    }
}

impl Migration {
    /// The primary that the slot leaves.
    pub fn from(&self) -> &ClusterNode {
        &self.from
    }

    /// The one where it arrives.
    pub fn to(&self) -> &ClusterNode {
        &self.to
    }

    /// Keys that have not been moved.
    ///
    /// # Panics
    /// If the server does not tell.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn keys_left(&self) -> Vec<String> {
        let keys = self.from.order(&["CLUSTER", "GETKEYSINSLOT", &self.slot.to_string(), ALL]).await;
        Vec::from_redis_value(keys).expect("the tests' keys are text")
    }

    /// Moves these keys.
    ///
    /// # Panics
    /// If the server does not take the order.
    ///
    /// # Cancel safety
    /// Cancelled, they may or may not be moved.
    pub async fn move_keys(&self, keys: &[&str]) {
        if keys.is_empty() {
            return;
        }
        let to = self.to.address();
        let (host, port) = (to.ip().to_string(), to.port().to_string());
        let fixed = ["MIGRATE", &host, &port, "", "0", PATIENCE, "AUTH2", "admin", ADMIN_PASSWORD, "KEYS"];
        self.from.order(&fixed.iter().chain(keys).copied().collect::<Vec<_>>()).await;
    }

    /// Makes the new primary serve the slot, and waits until all know that.
    ///
    /// # Panics
    /// If keys are left, a server does not take its order, or not all know it within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, some may know it.
    pub async fn end(self) {
        self.wait_for_epochs().await;
        let number = self.slot.to_string();
        let told = ["CLUSTER", "SETSLOT", &number, "NODE", self.to.id()];
        // In this order a slot is never without a primary.
        self.to.order(&told).await;
        self.from.order(&told).await;
        for (node, view) in self.cluster.views().await {
            if view.serves(node.id()) && node.id() != self.to.id() && node.id() != self.from.id() {
                node.order(&told).await;
            }
        }
        until("all servers know where the slot is", || async {
            let views = self.cluster.views().await;
            let knows =
                |view: &View| view.primaries().any(|one| one.id == self.to.id() && one.has(self.slot));
            views.iter().all(|(_, view)| knows(view)).then_some(())
        })
        .await;
    }

    /// The new primary is believed by all only with an epoch above the old one's, and takes one above those that it
    /// knows of: after another slot was moved a moment ago, these may be too few.
    async fn wait_for_epochs(&self) {
        until("all servers know one another's epochs", || async {
            let views = self.cluster.views().await;
            let mut epochs = views.iter().map(|(_, view)| view.epochs());
            let first = epochs.next()?;
            let distinct = first.values().collect::<BTreeSet<_>>().len() == first.len();
            (distinct && epochs.all(|other| other == first)).then_some(())
        })
        .await;
    }
}
