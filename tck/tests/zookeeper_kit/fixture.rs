//! A ZooKeeper of its own for each test.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use simba_backends::{
    LeaseBackend, LeaseName, SessionId,
    zookeeper::{ZooKeeperBackend, ZooKeeperBuilder},
};
use simba_servers::{APP_PASSWORD, Lacking, Options};
use simba_tck::{
    Census, Clock, Contest, Fault, Fixture, Lack, Misuse, Outage, Power, Rival, Skew, async_trait,
};
use zookeeper_client::CreateMode;

use super::{deployment::Deployment, misuse, operator::Operator, paths::Root};
use crate::rival::{Child, Remote};

/// What is special about its clients.
pub(crate) trait Custom: Send + Sync + 'static {
    /// What their URL ends with.
    const PARAMETERS: &str;
}

/// Nothing.
pub(crate) struct Usual;

impl Custom for Usual {
    const PARAMETERS: &str = "";
}

/// Their keep-alives write.
pub(crate) struct Writing;

impl Custom for Writing {
    const PARAMETERS: &str = "?keep_alive=write";
}

pub(crate) struct Server<D: Deployment, C: Custom = Usual> {
    pub(crate) place: D,
    custom: PhantomData<C>,
}

impl<D: Deployment, C: Custom> Server<D, C> {
    /// One with settings of its own.
    pub(crate) async fn with(options: Options) -> Self {
        Self::of(D::start(options).await)
    }

    /// One that was started in another way.
    pub(crate) fn of(place: D) -> Self {
        Self { place, custom: PhantomData }
    }

    /// Past everything that breaks.
    pub(crate) fn url(&self) -> String {
        log_in(&self.place.url(), "app", APP_PASSWORD) + C::PARAMETERS
    }

    pub(crate) fn breakable_url(&self) -> String {
        log_in(&self.place.breakable_url(), "app", APP_PASSWORD) + C::PARAMETERS
    }

    pub(crate) fn root(&self) -> Root {
        Root::of(&self.place.url())
    }

    /// All servers' addresses, past everything that breaks.
    pub(crate) fn hosts(&self) -> String {
        let addresses: Vec<_> = self.place.nodes().iter().map(|node| node.address().to_string()).collect();
        addresses.join(",")
    }

    pub(crate) async fn operator(&self) -> Operator {
        Operator::at(&self.hosts(), self.place.nodes()[0].admin_url()).await
    }

    pub(crate) fn builder(&self) -> ZooKeeperBuilder {
        builder(&self.breakable_url())
    }

    pub(crate) async fn backend(&self) -> ZooKeeperBackend {
        self.builder().connect().await.unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// Stops all servers where they stand.
    fn stop(&self) -> Lacking<Fault> {
        let nodes = self.place.nodes();
        for node in &nodes {
            node.stop()?;
        }
        Ok(Fault::new(async move {
            for node in nodes {
                node.resume().unwrap();
            }
        }))
    }
}

/// What sessions may last, and how soon their end is noticed.
pub(crate) fn usual() -> Options {
    // Servers of an ensemble that were all stopped for some time go on as they were.
    Options::new()
        .set("tickTime", "100")
        .set("initLimit", "200")
        .set("syncLimit", "100")
        .set("maxSessionTimeout", "2000000000")
}

/// That URL, for a user.
pub(crate) fn log_in(url: &str, user: &str, password: &str) -> String {
    url.replacen("://", &format!("://{user}:{password}@"), 1)
}

/// A client, in whichever process.
pub(crate) async fn connect(url: &str) -> Arc<dyn LeaseBackend> {
    Arc::new(builder(url).connect().await.unwrap_or_else(|error| panic!("{error:?}")))
}

/// Patient enough for a machine that is busy with other things.
fn builder(url: &str) -> ZooKeeperBuilder {
    let patience = Duration::from_secs(3);
    ZooKeeperBackend::builder(url).unwrap().call_timeout(patience).connection_timeout(patience)
}

fn possible<T>(power: Power, done: Lacking<T>) -> Result<T, Lack> {
    done.map_err(|reason| Lack::new(power, reason))
}

impl<D: Deployment, C: Custom> fmt::Debug for Server<D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

#[async_trait]
impl<D: Deployment, C: Custom> Fixture for Server<D, C> {
    fn clock() -> Clock {
        Clock::Real
    }

    async fn fresh() -> Self {
        Self::with(usual()).await
    }

    async fn connect(&self) -> Arc<dyn LeaseBackend> {
        Arc::new(self.backend().await)
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn lacks(&self, power: Power) -> &'static str {
        match power {
            Power::HoldLease => "ZooKeeper locks no node",
            Power::Purge => "ZooKeeper removes what has expired by itself",
            Power::Restart
            | Power::HoldSession
            | Power::Corrupt
            | Power::HalfClose
            | Power::Outage
            | Power::LoseHints
            | Power::Census
            | Power::CountCalls
            | Power::SkewedClock
            | Power::Misuse
            | Power::Rival => panic!("ZooKeeper has {power:?}"),
        }
    }

    async fn restart(&self) -> Result<(), Lack> {
        possible(Power::Restart, self.place.restart().await)
    }

    /// ZooKeeper cannot let one session wait alone.
    async fn hold_session(&self, _session: &SessionId) -> Result<Fault, Lack> {
        possible(Power::HoldSession, self.stop())
    }

    async fn corrupt(&self, name: &LeaseName) -> Result<(), Lack> {
        let path = self.root().lease(name);
        self.operator().await.create(&path, CreateMode::Persistent, b"not an id").await;
        Ok(())
    }

    async fn half_close(&self, session: &SessionId) -> Result<(), Lack> {
        assert!(self.operator().await.delete(&self.root().session(session)).await);
        Ok(())
    }

    async fn outage(&self, outage: Outage) -> Result<Fault, Lack> {
        possible(Power::Outage, self.place.outage(outage).await)
    }

    async fn lose_hints(&self) -> Result<(), Lack> {
        self.place.cut().await;
        Ok(())
    }

    async fn census(&self) -> Result<Census, Lack> {
        let (operator, root) = (self.operator().await, self.root());
        let mut census = Census {
            sessions: operator.children(&root.sessions()).await.len(),
            memberships: 0,
            tokens: operator.children(&root.leases()).await.len(),
        };
        for group in operator.children(&root.groups()).await {
            census.memberships += operator.children(&root.group(group)).await.len();
        }
        Ok(census)
    }

    /// Pings too, and what the administrator asks.
    async fn calls(&self) -> Result<u64, Lack> {
        let mut calls = 0;
        for node in self.place.nodes() {
            calls += node.received().await;
        }
        Ok(calls)
    }

    async fn connect_skewed(&self, skew: Skew) -> Result<Arc<dyn LeaseBackend>, Lack> {
        Ok(Arc::new(Remote::start(&self.breakable_url(), skew).await))
    }

    async fn misuses(&self) -> Result<Vec<Misuse>, Lack> {
        Ok(misuse::all(self).await)
    }

    async fn rival(&self, names: &[LeaseName], contest: Contest) -> Result<Box<dyn Rival>, Lack> {
        let _ = contest; // it does the same for both: what it is granted it releases
        let mut child = Child::start(&self.url()).await;
        let session = child.open(Duration::from_secs(3600)).await;
        child.contend(&session, names).await;
        Ok(Box::new(child))
    }
}
