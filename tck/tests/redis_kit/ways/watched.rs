//! A primary and two replicas under three sentinels.

use simba_servers::{Lacking, Options, Redis, Sentinels};
use simba_tck::{Fault, Outage};

use super::super::deployment::Deployment;

#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) sentinels: Sentinels,
}

impl Watched {
    /// One that replaces its primary when that is away for a second.
    pub(crate) async fn alert() -> Self {
        Self { sentinels: Sentinels::start().await }
    }

    fn primary(&self) -> &Redis {
        self.sentinels.primary()
    }
}

impl Deployment for Watched {
    async fn start(options: Options) -> Self {
        Self { sentinels: Sentinels::with(options.set("down-after-milliseconds", "3600000")).await }
    }

    fn url(&self) -> String {
        self.sentinels.url().to_owned()
    }

    /// No proxy: sentinels name the servers' own addresses.
    fn breakable_url(&self) -> String {
        self.url()
    }

    fn mistaken_urls(&self) -> Vec<(&'static str, String, &'static str)> {
        let sentinel = self.sentinels.sentinels()[0].url().to_owned();
        let unknown = self.url().replace("/main", "/nobody");
        vec![
            ("a sentinel for a server", sentinel.clone(), "redis+sentinel://"),
            (
                "a sentinel for a cluster",
                sentinel.replace("redis://", "redis+cluster://"),
                "redis+sentinel://",
            ),
            ("an unknown master", unknown, "nobody"),
        ]
    }

    async fn primaries(&self) -> Vec<String> {
        vec![self.primary().admin_url().to_owned()]
    }

    async fn primary_of(&self, _key: &str) -> String {
        self.primary().admin_url().to_owned()
    }

    fn all(&self) -> Vec<String> {
        let servers = std::iter::once(self.primary()).chain(self.sentinels.replicas());
        servers.map(|server| server.admin_url().to_owned()).collect()
    }

    async fn restart(&self) -> Lacking {
        self.primary().kill().await?;
        self.primary().start_again().await
    }

    async fn outage(&self, outage: Outage) -> Lacking<Fault> {
        let primary = self.primary().clone();
        match outage {
            Outage::Refused => {
                primary.kill().await?;
                Ok(Fault::new(async move { primary.start_again().await.unwrap() }))
            }
            Outage::BlackHole => {
                primary.stop()?;
                Ok(Fault::new(async move { primary.resume().unwrap() }))
            }
            Outage::ReadOnly => {
                primary.read_only().await?;
                Ok(Fault::new(async move { primary.read_write().await.unwrap() }))
            }
            Outage::Part => Err("one server has all keys"),
            Outage::Locked => panic!("a lock is the same everywhere"),
        }
    }

    fn own(&self) -> Lacking {
        Ok(())
    }
}
