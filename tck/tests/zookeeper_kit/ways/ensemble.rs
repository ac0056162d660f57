//! Three servers, and a proxy before each.

use futures_util::future::join_all;
use simba_servers::{Lacking, Options, ZooKeeper, ZooKeeperEnsemble};
use simba_tck::{Fault, Outage};

use super::super::deployment::Deployment;

#[derive(Clone, Debug)]
pub(crate) struct Ensemble {
    pub(crate) ensemble: ZooKeeperEnsemble,
}

impl Ensemble {
    /// Leaves one server alone: it serves nobody, for want of a quorum.
    async fn take_the_quorum_away(&self) -> Lacking<Fault> {
        for node in &self.ensemble.nodes()[1..] {
            node.kill().await?;
        }
        let ensemble = self.ensemble.clone();
        Ok(Fault::new(async move {
            ensemble.start_again().await;
            ensemble.wait_until_whole().await;
        }))
    }
}

impl Deployment for Ensemble {
    async fn start(options: Options) -> Self {
        Self { ensemble: ZooKeeperEnsemble::behind_proxies_with(options).await }
    }

    fn url(&self) -> String {
        let addresses: Vec<_> = self.nodes().iter().map(|node| node.address().to_string()).collect();
        format!("zookeeper://{}", addresses.join(","))
    }

    fn breakable_url(&self) -> String {
        self.ensemble.url().to_owned()
    }

    fn nodes(&self) -> Vec<ZooKeeper> {
        self.ensemble.nodes().to_vec()
    }

    async fn restart(&self) -> Lacking {
        for node in self.ensemble.nodes() {
            node.kill().await?;
        }
        self.ensemble.start_again().await;
        self.ensemble.wait_until_whole().await;
        Ok(())
    }

    async fn outage(&self, outage: Outage) -> Lacking<Fault> {
        let mut proxies = Vec::new();
        for node in self.ensemble.nodes() {
            proxies.push(node.proxy()?);
        }
        match outage {
            Outage::Refused => {
                join_all(proxies.iter().map(|proxy| proxy.refuse())).await;
            }
            Outage::BlackHole => {
                join_all(proxies.iter().map(|proxy| proxy.black_hole())).await;
            }
            Outage::ReadOnly => return self.take_the_quorum_away().await,
            Outage::Locked => return Err("ZooKeeper locks no node"),
            Outage::Part => return Err("each server has all nodes"),
        }
        Ok(Fault::new(async move {
            join_all(proxies.iter().map(|proxy| proxy.heal())).await;
        }))
    }

    async fn cut(&self) {
        for node in self.ensemble.nodes() {
            node.proxy().unwrap().reset().await;
        }
    }
}
