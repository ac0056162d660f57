//! A Redis of its own for each test.

use std::{any::Any, fmt, future::Future, marker::PhantomData, sync::Arc, time::Duration};

use simba_backends::{
    LeaseBackend, LeaseName, SessionId,
    redis::{RedisBackend, RedisBuilder},
};
use simba_servers::{Lacking, Options};
use simba_tck::{
    Census, Clock, Contest, Fault, Fixture, Lack, Misuse, Outage, Power, Rival, Skew, async_trait,
};

use super::{deployment::Deployment, keys, misuse, operator::Operator};
use crate::rival::{Child, Remote};

/// Something that is there for as long as its handle.
pub(crate) type Kept = Box<dyn Any + Send + Sync>;

/// What is special about a server.
pub(crate) trait Custom<D: Deployment>: Send + Sync + 'static {
    fn options() -> Options {
        Options::new()
    }

    /// What its URL ends with.
    fn parameters() -> &'static str {
        ""
    }

    /// Starts whatever else is to be there.
    fn prepare(place: &D) -> impl Future<Output = Kept> + Send {
        let _ = place; // nothing else
        async { Box::new(()) as Kept }
    }
}

/// Nothing.
pub(crate) struct Usual;

impl<D: Deployment> Custom<D> for Usual {}

pub(crate) struct Server<D: Deployment, C: Custom<D> = Usual> {
    pub(crate) place: D,
    _kept: Kept,
    custom: PhantomData<C>,
}

impl<D: Deployment, C: Custom<D>> Server<D, C> {
    /// One that was started in another way.
    pub(crate) fn of(place: D) -> Self {
        Self { place, _kept: Box::new(()), custom: PhantomData }
    }

    /// Past everything that breaks.
    pub(crate) fn url(&self) -> String {
        format!("{}{}", self.place.url(), C::parameters())
    }

    pub(crate) fn breakable_url(&self) -> String {
        format!("{}{}", self.place.breakable_url(), C::parameters())
    }

    pub(crate) fn builder(&self) -> RedisBuilder {
        RedisBackend::builder(&self.breakable_url()).unwrap()
    }

    pub(crate) async fn backend(&self) -> RedisBackend {
        self.builder().connect().await.unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// Somebody at the server that has a key.
    pub(crate) async fn operator_of(&self, key: &str) -> Operator {
        Operator::at(&self.place.primary_of(key).await).await
    }

    /// One at each server that takes writes.
    pub(crate) async fn operators(&self) -> Vec<Operator> {
        let mut operators = Vec::new();
        for url in self.place.primaries().await {
            operators.push(Operator::at(&url).await);
        }
        operators
    }

    /// Runs a command at each server that takes writes.
    pub(crate) async fn everywhere(&self, command: &str) {
        for mut operator in self.operators().await {
            operator.run(command).await;
        }
    }

    /// All keys of that pattern, wherever they are.
    pub(crate) async fn keys(&self, pattern: &str) -> Vec<String> {
        let mut keys = Vec::new();
        for mut operator in self.operators().await {
            keys.append(&mut operator.keys(pattern).await);
        }
        keys.sort();
        keys
    }

    /// Makes writes wait at these servers.
    async fn pause_writes(&self, servers: Vec<String>) -> Lacking<Fault> {
        self.place.own()?;
        let mut operators = Vec::new();
        for url in servers {
            let mut operator = Operator::at(&url).await;
            operator.run("CLIENT PAUSE 600000 WRITE").await;
            operators.push(operator);
        }
        Ok(Fault::new(async move {
            for mut operator in operators {
                operator.run("CLIENT UNPAUSE").await;
            }
        }))
    }
}

/// A client of the server, in whichever process.
pub(crate) async fn connect(url: &str) -> Arc<dyn LeaseBackend> {
    let builder = RedisBackend::builder(url).unwrap();
    Arc::new(builder.connect().await.unwrap_or_else(|error| panic!("{error:?}")))
}

fn possible<T>(power: Power, done: Lacking<T>) -> Result<T, Lack> {
    done.map_err(|reason| Lack::new(power, reason))
}

impl<D: Deployment, C: Custom<D>> fmt::Debug for Server<D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

#[async_trait]
impl<D: Deployment, C: Custom<D>> Fixture for Server<D, C> {
    fn clock() -> Clock {
        Clock::Real
    }

    async fn fresh() -> Self {
        let place = D::start(C::options()).await;
        Self { _kept: C::prepare(&place).await, place, custom: PhantomData }
    }

    async fn connect(&self) -> Arc<dyn LeaseBackend> {
        Arc::new(self.backend().await)
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn lacks(&self, power: Power) -> &'static str {
        match power {
            Power::HoldLease => "Redis runs one script at a time and locks no key",
            Power::Purge => "Redis removes what has expired by itself",
            Power::CountCalls => "a keep-alive of more than 1,000 leases is several calls on purpose",
            Power::Restart
            | Power::HoldSession
            | Power::Corrupt
            | Power::HalfClose
            | Power::Outage
            | Power::LoseHints
            | Power::Census
            | Power::SkewedClock
            | Power::Misuse
            | Power::Rival => panic!("Redis has {power:?}"),
        }
    }

    async fn restart(&self) -> Result<(), Lack> {
        possible(Power::Restart, self.place.restart().await)
    }

    async fn hold_session(&self, session: &SessionId) -> Result<Fault, Lack> {
        let server = self.place.primary_of(&keys::session(session)).await;
        possible(Power::HoldSession, self.pause_writes(vec![server]).await)
    }

    async fn corrupt(&self, name: &LeaseName) -> Result<(), Lack> {
        let key = keys::lease(name);
        self.operator_of(&key).await.run(&format!("HSET {key} token seven")).await;
        Ok(())
    }

    async fn half_close(&self, session: &SessionId) -> Result<(), Lack> {
        let key = keys::session(session);
        self.operator_of(&key).await.run(&format!("DEL {key}")).await;
        Ok(())
    }

    async fn outage(&self, outage: Outage) -> Result<Fault, Lack> {
        let outage = match outage {
            Outage::Locked => self.pause_writes(self.place.primaries().await).await,
            Outage::Refused | Outage::BlackHole | Outage::ReadOnly | Outage::Part => {
                self.place.outage(outage).await
            }
        };
        possible(Power::Outage, outage)
    }

    async fn lose_hints(&self) -> Result<(), Lack> {
        possible(Power::LoseHints, self.place.own())?;
        let mut killed = 0;
        for url in self.place.all() {
            killed += Operator::at(&url).await.ask::<u32>("CLIENT KILL TYPE pubsub").await;
        }
        assert!(killed > 0, "somebody listens");
        Ok(())
    }

    async fn census(&self) -> Result<Census, Lack> {
        let mut census = Census { sessions: 0, memberships: 0, tokens: 0 };
        for mut operator in self.operators().await {
            census.sessions += operator.keys("simba:session:{*}").await.len();
            census.tokens += operator.keys("simba:lease:{*}").await.len();
            for key in operator.keys("simba:group:{*}").await {
                census.memberships += operator.ask::<usize>(&format!("ZCARD {key}")).await;
            }
        }
        Ok(census)
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
