//! Three primaries with a replica each, and a proxy before each server.

use futures_util::future::join_all;
use simba_servers::{ClusterNode, Lacking, Options, RedisCluster};
use simba_tck::{Fault, Outage};

use super::super::{deployment::Deployment, operator::Operator};

#[derive(Clone, Debug)]
pub(crate) struct Clustered {
    pub(crate) cluster: RedisCluster,
}

impl Clustered {
    /// One that replaces a primary that is away for a second.
    pub(crate) async fn alert() -> Self {
        Self { cluster: RedisCluster::behind_proxies().await }
    }

    /// Those that have slots, unless one was replaced.
    pub(crate) fn began_as_primaries(&self) -> &[ClusterNode] {
        &self.cluster.nodes()[..3]
    }

    /// One on which no session has its record, if there is one.
    async fn part(&self) -> ClusterNode {
        for node in self.began_as_primaries() {
            if Operator::at(node.admin_url()).await.keys("simba:session:*").await.is_empty() {
                return node.clone();
            }
        }
        self.began_as_primaries()[0].clone()
    }

    /// Demands more replicas than there are.
    async fn set_replicas_to_write(&self, number: &str) {
        for node in self.began_as_primaries() {
            let done = node.execute(&["CONFIG", "SET", "min-replicas-to-write", number]).await;
            done.unwrap();
        }
    }
}

impl Deployment for Clustered {
    async fn start(options: Options) -> Self {
        let options = options.set("cluster-replica-no-failover", "yes");
        Self { cluster: RedisCluster::behind_proxies_with(options).await }
    }

    fn url(&self) -> String {
        self.cluster.url().to_owned()
    }

    /// The cluster itself leads clients to its proxies.
    fn breakable_url(&self) -> String {
        self.url()
    }

    fn mistaken_urls(&self) -> Vec<(&'static str, String, &'static str)> {
        let node = self.cluster.nodes()[0].url().to_owned();
        let waiting = format!("{}?wait_replicas=1", self.url());
        vec![
            ("a node of a cluster", node, "redis+cluster://"),
            ("replicas to wait for in a cluster", waiting, "min-replicas-to-write"),
        ]
    }

    async fn primaries(&self) -> Vec<String> {
        self.began_as_primaries().iter().map(|node| node.admin_url().to_owned()).collect()
    }

    async fn primary_of(&self, key: &str) -> String {
        self.cluster.primary_of(key).await.admin_url().to_owned()
    }

    fn all(&self) -> Vec<String> {
        self.cluster.nodes().iter().map(|node| node.admin_url().to_owned()).collect()
    }

    async fn restart(&self) -> Lacking {
        for node in self.began_as_primaries() {
            node.kill().await?;
        }
        for started in join_all(self.began_as_primaries().iter().map(ClusterNode::start_again)).await {
            started?;
        }
        self.cluster.wait_until_whole().await;
        Ok(())
    }

    async fn outage(&self, outage: Outage) -> Lacking<Fault> {
        let mut proxies = Vec::new();
        for node in self.cluster.nodes() {
            proxies.push(node.proxy()?);
        }
        match outage {
            Outage::Refused => {
                for proxy in &proxies {
                    proxy.refuse().await;
                }
            }
            Outage::BlackHole => {
                for proxy in &proxies {
                    proxy.black_hole().await;
                }
            }
            Outage::Part => {
                proxies = vec![self.part().await.proxy()?];
                proxies[0].black_hole().await;
            }
            Outage::ReadOnly => {
                self.set_replicas_to_write("9").await;
                let cluster = self.clone();
                return Ok(Fault::new(async move { cluster.set_replicas_to_write("0").await }));
            }
            Outage::Locked => panic!("a lock is the same everywhere"),
        }
        Ok(Fault::new(async move {
            for proxy in proxies {
                proxy.heal().await;
            }
        }))
    }

    fn own(&self) -> Lacking {
        Ok(())
    }
}
