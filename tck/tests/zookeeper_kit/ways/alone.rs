//! One server, and a proxy before it.

use std::sync::Arc;

use simba_servers::{Lacking, Options, Proxy, ZooKeeper};
use simba_tck::{Fault, Outage};

use super::super::deployment::Deployment;

#[derive(Clone, Debug)]
pub(crate) struct Alone {
    pub(crate) zookeeper: ZooKeeper,
    pub(crate) proxy: Arc<Proxy>,
}

impl Alone {
    pub(crate) async fn of(zookeeper: ZooKeeper) -> Self {
        Self { proxy: Arc::new(Proxy::before(zookeeper.address()).await), zookeeper }
    }
}

impl Deployment for Alone {
    async fn start(options: Options) -> Self {
        Self::of(ZooKeeper::with(options).await).await
    }

    fn url(&self) -> String {
        self.zookeeper.url().to_owned()
    }

    fn breakable_url(&self) -> String {
        self.proxy.url(self.zookeeper.url())
    }

    fn nodes(&self) -> Vec<ZooKeeper> {
        vec![self.zookeeper.clone()]
    }

    async fn restart(&self) -> Lacking {
        self.zookeeper.kill().await?;
        self.zookeeper.start_again().await
    }

    async fn outage(&self, outage: Outage) -> Lacking<Fault> {
        match outage {
            Outage::Refused => self.proxy.refuse().await,
            Outage::BlackHole => self.proxy.black_hole().await,
            Outage::ReadOnly => return Err("one server alone takes writes, or serves nobody"),
            Outage::Locked => return Err("ZooKeeper locks no node"),
            Outage::Part => return Err("one server has no parts"),
        }
        let proxy = Arc::clone(&self.proxy);
        Ok(Fault::new(async move { proxy.heal().await }))
    }

    async fn cut(&self) {
        self.proxy.reset().await;
    }
}
