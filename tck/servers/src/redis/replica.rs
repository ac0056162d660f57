//! A second server that has, some time later, what the first one has.

use std::sync::Arc;

use redis::{FromRedisValue, Value};

use super::{
    Redis,
    command::{GLANCE, command},
    configuration::Role,
    way::Way,
};
use crate::{Lacking, Proxy, external, wait::until};

impl Redis {
    /// Starts a replica of this server, which replicates over a way of its own.
    ///
    /// # Errors
    /// Why this server can have none.
    ///
    /// # Panics
    /// If it does not replicate within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn replica(&self) -> Lacking<Self> {
        self.instance.own()?;
        // The administrator's way is never one of TLS.
        let link = Proxy::before(external::address_of(self.admin_url())).await;
        let role = Role::ReplicaOf { port: link.address().port() };
        let replica = Self::of_ours(Way::Direct, self.options.clone(), role).await;
        replica.wait_until_in_step().await;
        Ok(Self { link: Some(Arc::new(link)), ..replica })
    }

    /// The way of this replica to its primary, which can be broken alone.
    ///
    /// # Errors
    /// Why it has none.
    pub fn link(&self) -> Lacking<Arc<Proxy>> {
        self.link.clone().ok_or("this server was not started as a replica of another")
    }

    /// Waits until a replica has a link to its primary.
    pub(super) async fn wait_until_in_step(&self) {
        until("a replica is in step", || async {
            let role = command(self.admin_url(), &["ROLE"], GLANCE).await.ok()?;
            let role: Vec<Value> = Vec::from_redis_value(role).ok()?;
            (role.get(3)? == &Value::BulkString(b"connected".to_vec())).then_some(())
        })
        .await;
    }
}
