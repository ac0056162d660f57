//! One server, and a proxy before it.

use std::sync::Arc;

use simba_servers::{Lacking, Options, Proxy, Redis};
use simba_tck::{Fault, Outage};

use super::super::deployment::Deployment;

#[derive(Clone, Debug)]
pub(crate) struct Alone {
    pub(crate) redis: Redis,
    pub(crate) proxy: Arc<Proxy>,
}

impl Deployment for Alone {
    async fn start(options: Options) -> Self {
        let redis = Redis::with(options).await;
        Self { proxy: Arc::new(Proxy::before(redis.address()).await), redis }
    }

    fn url(&self) -> String {
        self.redis.url().to_owned()
    }

    fn breakable_url(&self) -> String {
        self.proxy.url(self.redis.url())
    }

    fn mistaken_urls(&self) -> Vec<(&'static str, String, &'static str)> {
        let url = self.redis.url().replace("redis://", "redis+cluster://");
        // A logical database of a server that runs already is none of a cluster.
        let (before, _) = url.split_once("/0").unwrap_or((&url, ""));
        vec![("a cluster that is none", before.to_owned(), "redis://host:port")]
    }

    async fn primaries(&self) -> Vec<String> {
        self.all()
    }

    async fn primary_of(&self, _key: &str) -> String {
        self.redis.admin_url().to_owned()
    }

    fn all(&self) -> Vec<String> {
        vec![self.redis.admin_url().to_owned()]
    }

    async fn restart(&self) -> Lacking {
        self.redis.kill().await?;
        self.redis.start_again().await
    }

    async fn outage(&self, outage: Outage) -> Lacking<Fault> {
        let (proxy, redis) = (Arc::clone(&self.proxy), self.redis.clone());
        match outage {
            Outage::Refused => {
                proxy.refuse().await;
                Ok(Fault::new(async move { proxy.heal().await }))
            }
            Outage::BlackHole => {
                proxy.black_hole().await;
                Ok(Fault::new(async move { proxy.heal().await }))
            }
            Outage::ReadOnly => {
                redis.read_only().await?;
                Ok(Fault::new(async move { redis.read_write().await.unwrap() }))
            }
            Outage::Part => Err("one server has no parts"),
            Outage::Locked => panic!("a lock is the same everywhere"),
        }
    }

    fn own(&self) -> Lacking {
        self.redis.pid().map(|_| ()).ok_or("the server is not the tests' own")
    }
}
