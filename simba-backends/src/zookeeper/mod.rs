//! The storage in ZooKeeper 3.6 or newer: one server, or an ensemble.
//!
//! ```no_run
//! # async fn open() -> Result<(), simba_backends::BackendError> {
//! use simba_backends::zookeeper::ZooKeeperBackend;
//! let backend = ZooKeeperBackend::connect("zookeeper://zk1.example,zk2.example,zk3.example/simba").await?;
//! # Ok(()) }
//! ```
//!
//! # How it works
//!
//! A session is a session of ZooKeeper, with a client of its own that never takes up another one. A lease is an
//! ephemeral node of that session, its token the transaction in which the node was made (`czxid`): it rises with each
//! term, and not by one. Whoever waits for a lease watches its node.
//!
//! A keep-alive is a `sync` followed by reads, and writes nothing: what holds up after a `sync` has come by way of the
//! leader. ZooKeeper's client keeps its session alive by itself; so a watchdog ends a session that no keep-alive has
//! renewed for a lease.
//!
//! # What the ensemble decides
//!
//! The session time-out asked for is the lease; the ensemble clamps it to its own bounds (`minSessionTimeout` and
//! `maxSessionTimeout`, 2 and 20 ticks unless set). What a crashed process held is free after the time-out that it
//! granted.
//!
//! Writes commit to a quorum, so that tokens survive every fail-over. They go back only if the ensemble's data is lost
//! or restored from an older snapshot. No wall clock is looked at.
//!
//! # Who may do what
//!
//! Without credentials everybody may change every node, and there is a
//! [warning](crate::LeaseBackend::warnings). With them, nodes belong to whoever is logged in, or get the ACL that
//! [`acl`](ZooKeeperBuilder::acl) says. Parents that exist keep their ACL, and it is the ACL of `leases`, `groups/GROUP`
//! and `sessions` that decides who may create and delete the nodes in them: let Simba make them, or set their ACL
//! yourself.

mod acquire;
mod builder;
mod ensemble;
mod error;
mod group;
mod hints;
mod holdings;
mod lease;
mod link;
mod listen;
mod live;
mod location;
mod parents;
mod paths;
mod permission;
mod release;
mod session;
mod sight;
mod subject;
mod topics;
mod touches;
mod watchdog;
mod watches;
mod waves;

use std::{fmt, future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::timeout;
use zookeeper_client::Client;

pub use self::builder::ZooKeeperBuilder;
use self::{ensemble::Ensemble, hints::ZooKeeperHints, listen::Listening, live::Sessions, paths::Paths};
use crate::{
    Acquired, BackendError, Capabilities, ClockSource, GroupName, HintSource, Holder, Joined, KeepAlive,
    LeaseBackend, LeaseName, Member, Metadata, Opened, Release, Renewal, SessionId, SessionScope,
};

/// A storage in ZooKeeper. A clone shares its sessions.
///
/// # Cancel safety
/// A call goes on to its end when it is dropped.
#[derive(Clone)]
pub struct ZooKeeperBackend {
    shared: Arc<Shared>,
}

struct Shared {
    /// How messages name it.
    place: String,
    ensemble: Ensemble,
    paths: Paths,
    call_timeout: Duration,
    confirmation: Confirmation,
    warnings: Vec<String>,
    sessions: Sessions,
    /// For the hint sources.
    listening: Listening,
}

/// By what the leader confirms a keep-alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confirmation {
    /// A `sync`: a leader that has just lost its quorum, and does not know it yet, answers that as well.
    Read,
    /// A write: only a quorum can answer that.
    Write,
}

/// How long the session lasts that is opened to read something.
const READING: Duration = Duration::from_secs(10);

impl Shared {
    /// A client to read with: that of a session where there is one, else one that ends with its last clone. It is there
    /// within the time of a call.
    async fn client(&self) -> Result<Client, BackendError> {
        match self.sessions.any_client() {
            Some(client) => Ok(client),
            None => self.ensemble.client(&self.place, READING, self.call_timeout).await,
        }
    }

    /// Waits for the answer to a call about a node, no longer than a call may take.
    async fn within<T>(&self, path: &str, call: impl Future<Output = T>) -> Result<T, BackendError> {
        timeout(self.call_timeout, call).await.map_err(|_| error::unanswered(&self.place, path))
    }
}

impl ZooKeeperBackend {
    /// Connects to the ensemble that a URL names: `zookeeper://user:password@host:2181,host:2181/root`.
    ///
    /// The port is 2181 and the root `/simba` unless written. User and password are left out or log in by `digest`;
    /// in both write `%2F` for `/`, `%3F` for `?`, `%23` for `#`, `%40` for `@` and `%25` for `%`. With
    /// `?keep_alive=write` keep-alives [write](ZooKeeperBuilder::write_keep_alives).
    ///
    /// # Errors
    /// As [`ZooKeeperBuilder::connect`].
    ///
    /// # Cancel safety
    /// Nothing is held by a dropped call.
    pub async fn connect(url: &str) -> Result<Self, BackendError> {
        Box::pin(Self::builder(url)?.connect()).await
    }

    /// Begins to set up a storage in the ensemble that a URL names.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for a text that is no such URL.
    pub fn builder(url: &str) -> Result<ZooKeeperBuilder, BackendError> {
        ZooKeeperBuilder::from_url(url)
    }
}

impl fmt::Debug for ZooKeeperBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZooKeeperBackend").field("place", &self.shared.place).finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for ZooKeeperBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            hints: true,
            durable_tokens: true,
            one_call_keep_alive: false,
            clock: ClockSource::Storage,
            session_scope: SessionScope::Backend,
            renewal: Renewal::Earlier,
        }
    }

    fn warnings(&self) -> &[String] {
        &self.shared.warnings
    }

    async fn open_session(&self, lease: Duration, metadata: &Metadata) -> Result<Opened, BackendError> {
        session::open(&self.shared, lease, metadata).await
    }

    async fn keep_alive(&self, session: &SessionId, lease: Duration) -> Result<KeepAlive, BackendError> {
        session::keep_alive(&self.shared, session, lease).await
    }

    async fn close_session(&self, session: &SessionId) -> Result<(), BackendError> {
        session::close(&self.shared, session).await
    }

    async fn acquire(&self, session: &SessionId, names: &[LeaseName]) -> Result<Acquired, BackendError> {
        acquire::acquire(&self.shared, session, names).await
    }

    async fn release(
        &self,
        session: &SessionId,
        leases: &[(LeaseName, crate::Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        release::release(&self.shared, session, leases).await
    }

    async fn join(&self, session: &SessionId, group: &GroupName) -> Result<Joined, BackendError> {
        group::join(&self.shared, session, group).await
    }

    async fn leave(&self, session: &SessionId, group: &GroupName) -> Result<(), BackendError> {
        group::leave(&self.shared, session, group).await
    }

    async fn members(&self, group: &GroupName) -> Result<Vec<Member>, BackendError> {
        group::members(&self.shared, group).await
    }

    async fn inspect(&self, name: &LeaseName) -> Result<Option<Holder>, BackendError> {
        lease::inspect(&self.shared, name).await
    }

    fn hints(&self) -> Option<Box<dyn HintSource>> {
        Some(Box::new(ZooKeeperHints::new(&self.shared)))
    }
}
