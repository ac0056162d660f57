//! The storage in Redis 7 or newer: one server, the master that Sentinels name, or a cluster.
//!
//! ```no_run
//! # async fn open() -> Result<(), simba_backends::BackendError> {
//! use simba_backends::redis::RedisBackend;
//! let backend = RedisBackend::connect("redis://shop:secret@cache.example").await?;
//! # Ok(()) }
//! ```
//!
//! There is nothing to create. Leases are measured with the server's wall clock; a step of that clock shortens or
//! lengthens every lease at once, and so does a fail-over to a server with another clock.
//!
//! # How it works
//!
//! Each operation is a script, which the server runs as a whole. Where one server has all keys, an acquire or a
//! keep-alive of up to 1,000 names is one call, and of more one call for each thousand, so that no script holds up
//! the server. On a cluster each call keeps to one hash slot: the session is asked first, then the leases' slots, all
//! at once, and only durations travel between them. A slot that does not answer fails its own names, no others.
//!
//! Keep-alives have a connection of their own, and so has what waits for replicas; the other calls share one. Another
//! one listens while anybody waits for a name: a release is published on the lease's channel.
//!
//! # Durability
//!
//! Tokens survive a restart of the server only with an append-only file. Replicas get what was written later: the
//! promotion of one that had not received the latest grants can take a token back.
//! [`wait_replicas`](RedisBuilder::wait_replicas) narrows that window, and does not close it; where fencing must hold
//! over every fail-over, use a storage that commits to a quorum.

mod builder;
mod cluster;
mod error;
mod group;
mod hints;
mod key;
mod known;
mod lease;
mod listen;
mod location;
mod node;
mod one;
mod parts;
mod reply;
mod script;
mod sentinel;
mod server;
mod session;
mod settings;
mod source;
mod subscriber;
mod topics;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;

pub use self::builder::RedisBuilder;
use self::{hints::RedisHints, key::Keys, known::Known, listen::Listening, server::Server};
use crate::{
    Acquired, BackendError, Capabilities, GroupName, HintSource, Holder, Joined, KeepAlive, LeaseBackend,
    LeaseName, Member, Metadata, Opened, Release, SessionId, Token,
};

/// A storage in Redis. A clone shares its connections.
///
/// # Cancel safety
/// A dropped call is run to its end by the server if it was sent, and its connection is closed; one that was
/// not sent yet is not begun.
#[derive(Clone)]
pub struct RedisBackend {
    shared: Arc<Shared>,
}

struct Shared {
    server: Server,
    keys: Keys,
    call_timeout: Duration,
    durable_tokens: bool,
    warnings: Vec<String>,
    /// Of sessions whose leases may be on other servers.
    known: Known,
    /// Tells the hint sources of this process what any process freed.
    listening: Listening,
}

impl RedisBackend {
    /// Connects to the server that a URL names, in one of these shapes. With `rediss` in place of `redis` all
    /// connections are made with TLS, those to Sentinels too; the host's root certificates are trusted, or those in the
    /// file that the environment variable `SSL_CERT_FILE` names.
    ///
    /// | URL | server |
    /// |---|---|
    /// | `redis://user:password@host:6379/0` | one server |
    /// | `redis+sentinel://user:password@host:26379,host:26379/MASTER/0` | the master of that name, as Sentinels know it |
    /// | `redis+cluster://user:password@host:6379,host:6379` | a cluster, found through any of these |
    ///
    /// User and password may be left out, or the user alone (`:password@`); in both write `%2F` for `/`, `%3F` for
    /// `?`, `%23` for `#`, `%40` for `@` and `%25` for `%`. The parameters are `prefix` and `wait_replicas`, as in
    /// [`RedisBuilder`], and `sentinel_user` and `sentinel_password`, with which Sentinels are asked.
    ///
    /// # Errors
    /// As [`RedisBuilder::connect`].
    ///
    /// # Cancel safety
    /// Nothing is held by a dropped call.
    pub async fn connect(url: &str) -> Result<Self, BackendError> {
        Box::pin(Self::builder(url)?.connect()).await
    }

    /// Begins to set up a storage in the server that a URL names.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for a text that is no such URL.
    pub fn builder(url: &str) -> Result<RedisBuilder, BackendError> {
        RedisBuilder::from_url(url)
    }

    /// Begins to set up a storage in the one server that a client of the driver connects to, with the client's
    /// options (certificates for TLS, for example), in RESP3 and with TCP_NODELAY.
    pub fn builder_with_client(client: &::redis::Client) -> RedisBuilder {
        RedisBuilder::from_client(client)
    }

    /// Begins to set up a storage with connections from the application's pool for one server.
    ///
    /// A connection is taken out of the pool for good: the pool counts it no more, and it is not given back.
    /// Three at most are in use at a time, and another one is taken when one has failed. Let the pool make RESP3
    /// connections if the server has a `timeout`: with RESP2 nobody is told that it closed one. Subscriptions cannot be
    /// made on a pool's connections: theirs are the client's, which must lead to the same server.
    pub fn builder_with_pool(pool: deadpool_redis::Pool, client: &::redis::Client) -> RedisBuilder {
        RedisBuilder::from_pool(pool, client)
    }

    fn server(&self) -> &Server {
        &self.shared.server
    }

    fn place(&self) -> &str {
        self.server().place()
    }

    fn keys(&self) -> &Keys {
        &self.shared.keys
    }

    fn known(&self) -> &Known {
        &self.shared.known
    }

    /// How long a call may take.
    fn limit(&self) -> Duration {
        self.shared.call_timeout
    }

    /// How long one of the calls may take that an operation of a session with such a lease waits for together: so
    /// short that the operation answers for all other parts before the engine gives up on it.
    fn limit_of_part(&self, lease: Duration) -> Duration {
        self.limit().min(lease / 6)
    }
}

impl fmt::Debug for RedisBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RedisBackend");
        shown.field("place", &self.place()).field("prefix", &self.keys().prefix()).finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for RedisBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            hints: true,
            durable_tokens: self.shared.durable_tokens,
            one_call_keep_alive: false,
            ..Capabilities::default()
        }
    }

    fn warnings(&self) -> &[String] {
        &self.shared.warnings
    }

    async fn open_session(&self, lease: Duration, metadata: &Metadata) -> Result<Opened, BackendError> {
        session::open(self, lease, metadata).await
    }

    async fn keep_alive(&self, session: &SessionId, lease: Duration) -> Result<KeepAlive, BackendError> {
        session::keep_alive(self, session, lease).await
    }

    async fn close_session(&self, session: &SessionId) -> Result<(), BackendError> {
        session::close(self, session).await
    }

    async fn acquire(&self, session: &SessionId, names: &[LeaseName]) -> Result<Acquired, BackendError> {
        lease::acquire(self, session, names).await
    }

    async fn release(
        &self,
        session: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        lease::release(self, session, leases).await
    }

    async fn join(&self, session: &SessionId, group: &GroupName) -> Result<Joined, BackendError> {
        group::join(self, session, group).await
    }

    async fn leave(&self, session: &SessionId, group: &GroupName) -> Result<(), BackendError> {
        group::leave(self, session, group).await
    }

    async fn members(&self, group: &GroupName) -> Result<Vec<Member>, BackendError> {
        group::members(self, group).await
    }

    async fn inspect(&self, name: &LeaseName) -> Result<Option<Holder>, BackendError> {
        lease::inspect(self, name).await
    }

    fn hints(&self) -> Option<Box<dyn HintSource>> {
        Some(Box::new(RedisHints::new(&self.shared)))
    }
}
