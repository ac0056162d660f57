//! Redis under sentinels.

mod sentinel;
mod setup;

use std::sync::Arc;

use futures_util::future::join_all;
use redis::{FromRedisValue, Value};

pub use self::sentinel::Sentinel;
use self::setup::{Access, NAME};
use super::{
    Redis,
    command::{GLANCE, command},
    launch,
    way::Way,
};
use crate::{Options, wait::until};

/// A primary with two replicas, and three sentinels that replace it once two of them have missed it for a
/// second: always servers of ours, also where there are servers of your own.
///
/// Which user may do what in the servers is as for [`Redis`]. To cut replicas off, tell their
/// [primary](Redis::refuse_replicas) to refuse them.
#[derive(Clone, Debug)]
pub struct Sentinels {
    /// The one that began as the primary, then its replicas.
    servers: Arc<[Redis]>,
    sentinels: Arc<[Sentinel]>,
    url: String,
}

impl Sentinels {
    /// As usual: who asks the sentinels may have no password.
    ///
    /// # Panics
    /// If Redis is not there, or they do not know one another within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn start() -> Self {
        Self::with(Options::new()).await
    }

    /// With settings of their own: `down-after-milliseconds`, `failover-timeout` and `parallel-syncs` are for the
    /// sentinels, all others for the servers.
    ///
    /// # Panics
    /// If Redis is not there, or they do not know one another within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with(options: Options) -> Self {
        Self::of(options, Access::Open, Way::Direct).await
    }

    /// With sentinels that answer only the users of [`url`](Self::url) and of the administrator.
    ///
    /// # Panics
    /// If Redis is not there, or they do not know one another within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with_passwords() -> Self {
        Self::of(Options::new(), Access::Passwords, Way::Direct).await
    }

    /// With a [proxy](Redis::proxy) before each server, to which the sentinels lead clients. Sentinels and
    /// replicas go through it too: a primary whose proxy is broken is replaced.
    ///
    /// # Panics
    /// If Redis is not there, or they do not know one another within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn behind_proxies() -> Self {
        Self::of(Options::new(), Access::Open, Way::Proxied).await
    }

    /// How the tested program finds the primary: the sentinels' addresses, the user of the servers, who may ask
    /// sentinels too, and what the sentinels call the primary.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The one that began as the primary.
    pub fn primary(&self) -> &Redis {
        &self.servers[0]
    }

    /// Those that began as its replicas.
    pub fn replicas(&self) -> &[Redis] {
        &self.servers[1..]
    }

    /// Who watches them.
    pub fn sentinels(&self) -> &[Sentinel] {
        &self.sentinels
    }

    /// Asks the sentinels who is the primary now, until all that are there say the same.
    ///
    /// # Panics
    /// If they do not within a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn current_primary(&self) -> Redis {
        until("the sentinels agree on a primary", || self.agreed()).await
    }

    /// Waits until another one is in the place of the one that began as the [primary](Self::primary).
    ///
    /// # Panics
    /// If that does not come about within a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn wait_for_failover(&self) -> Redis {
        self.wait_for_failover_of(self.primary()).await
    }

    /// Waits until all sentinels that are there name another primary than that one, and it takes writes. The one
    /// that led this may still be busy with the replicas, and would lead no other meanwhile.
    ///
    /// # Panics
    /// If that does not come about within a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn wait_for_failover_of(&self, primary: &Redis) -> Redis {
        until("the sentinels have replaced the primary", || async {
            let successor = self.agreed().await?;
            let role = command(successor.admin_url(), &["ROLE"], GLANCE).await.ok()?;
            let role: Vec<Value> = Vec::from_redis_value(role).ok()?;
            let writes = role.first()? == &Value::BulkString(b"master".to_vec());
            (writes && successor.address() != primary.address()).then_some(successor)
        })
        .await
    }

    /// Waits until all servers and sentinels are there and know one another, and each replica is in step. A
    /// primary that was replaced and has come back is left alone by the sentinels for some ten seconds.
    ///
    /// # Panics
    /// If that does not come about within a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn wait_until_whole(&self) {
        for sentinel in self.sentinels.iter() {
            until("a sentinel knows all", || sentinel.knows_all(self.replicas().len())).await;
        }
    }

    async fn of(options: Options, access: Access, way: Way) -> Self {
        let (options, own) = setup::divide(options);
        let servers: Arc<[Redis]> = setup::servers(&options, way).await.into();
        let sentinels: Arc<[Sentinel]> = setup::sentinels(&servers, &own, access).await.into();
        let addresses: Vec<_> = sentinels.iter().map(Sentinel::address).collect();
        let (url, _) = launch::urls("redis+sentinel", &addresses);
        let watched = Self { servers, sentinels, url: format!("{url}/{NAME}") };
        watched.wait_until_whole().await;
        watched
    }

    async fn agreed(&self) -> Option<Redis> {
        let asked = join_all(self.sentinels.iter().map(Sentinel::names)).await;
        let mut named = asked.into_iter().flatten();
        let first = named.next()?;
        let found = self.servers.iter().find(|one| one.announced().port() == first)?;
        named.all(|one| one == first).then(|| found.clone())
    }
}
