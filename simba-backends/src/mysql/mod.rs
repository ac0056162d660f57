//! The storage in MySQL 8 (8.0.11 or later) or MariaDB 10.6 or later.
//!
//! ```no_run
//! # async fn open() -> Result<(), simba_backends::BackendError> {
//! use simba_backends::mysql::MySqlBackend;
//! let backend = MySqlBackend::connect("mysql://app:secret@db.example/shop?ssl-mode=REQUIRED").await?;
//! # Ok(()) }
//! ```
//!
//! The tables are made once, by `sql/init-simba-mysql.sql` or [`MySqlBuilder::create_tables`]. The user needs
//! `select`, `insert`, `update` and `delete` on them.
//!
//! # How it works
//!
//! Everything that one call does is one message, which the server runs to its end in one go. No lock outlives
//! it, and none is held while rows travel to the client or while it reads of an error. Sessions are opened and
//! kept alive on a connection of their own. Where a lock could be somebody else's, it is not waited for: the name
//! is answered as held, and is tried again.
//!
//! A session lives by the server's clock, in UTC, whatever the time zones of server, session and client. A step
//! of that clock is a step of every lease.
//!
//! # What it must be connected to
//!
//! - **One primary.** Locks and clocks end at a server: all processes of one application use the same one, also
//!   behind a proxy that splits reads from writes (name the primary instead), in group replication with several
//!   primaries and in Galera (let all write to one node).
//! - **What a commit is worth** is the server's affair: after a fail-over to a replica that lacked the last
//!   commits, tokens and sessions can go back. Semi-synchronous or group replication keeps them;
//!   so does `innodb_flush_log_at_trx_commit = 1` over a crash of the machine.
//! - `binlog_format` must be `row` or `mixed`: what is written at READ COMMITTED cannot be logged as statements.
//!
//! # An application's pool
//!
//! [`MySqlBackend::builder_with_pool`] uses connections that the application made. Whatever their settings are, a call
//! begins by rolling back what somebody left open, and ends by restoring them. (One that `set timestamp` has another
//! clock, and must not be in such a pool.) A pool whose connections are all
//! in use makes acquiring wait, and then fail; keep-alives have a connection of their own, with the pool's
//! options, which the backend opens beside the pool. A call that failed closes its connection.
//!
//! # Hints
//!
//! The server notifies nobody. While somebody waits, the wanted names are looked at at the pace of
//! [`MySqlBuilder::hint_poll`].

mod builder;
mod error;
mod flavour;
mod group;
mod known;
mod lease;
mod location;
mod message;
mod purge;
mod schema;
mod session;
mod take;
mod watch;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use sqlx::{
    MySql, MySqlPool,
    mysql::{MySqlConnectOptions, MySqlRow},
};

pub use self::builder::MySqlBuilder;
use self::{
    flavour::Flavour,
    known::Known,
    message::{Frame, Message},
    watch::Watchers,
};
use crate::{
    Acquired, BackendError, Capabilities, GroupName, HintSource, Holder, Joined, KeepAlive, LeaseBackend,
    LeaseName, Member, Metadata, Opened, Release, SessionId, Token,
    sql::{self, Freed, Hints, PurgeTimer, Server},
};

/// A storage in a MySQL or MariaDB server. A clone shares its connections.
///
/// # Cancel safety
/// A call whose future is dropped may still be applied; its connection is closed.
#[derive(Clone)]
pub struct MySqlBackend {
    shared: Arc<Shared>,
}

struct Shared {
    server: Server<MySql>,
    flavour: Flavour,
    /// What is sent around a message on the connection that is kept, and on the others.
    kept_frame: Frame,
    frame: Frame,
    /// Which names have a row, and what was told of them.
    known: Known,
    purge: PurgeTimer,
    /// Tells this process's hint sources of what this process freed, sooner than they would notice.
    freed: Freed,
    hint_poll: Duration,
    watchers: Watchers,
}

/// Which connection a message takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// Sessions are opened and kept alive here: nothing else may make a keep-alive wait.
    KeepAlives,
    Calls,
}

/// The rows of each statement of a message.
struct Answer {
    answer: sql::Answer<MySql>,
    /// How many statements precede those of the message.
    before: usize,
}

impl Answer {
    fn rows(&self, statement: usize) -> &[MySqlRow] {
        self.answer.rows(self.before + statement)
    }
}

impl MySqlBackend {
    /// Connects to the server and database that a URL names, whose tables are there.
    ///
    /// `mysql://user:password@host:3306/database`, with `mariadb:` for the same, and `ssl-mode`, `ssl-ca`,
    /// `ssl-cert`, `ssl-key`, `socket` as parameters. Without an `ssl-mode`, TLS is used
    /// where the server has it.
    ///
    /// # Errors
    /// As [`MySqlBuilder::connect`].
    ///
    /// # Cancel safety
    /// Nothing is held by a dropped call.
    pub async fn connect(url: &str) -> Result<Self, BackendError> {
        Self::builder(url)?.connect().await
    }

    /// Begins to set up a storage in the server and database that a URL names, with connections of its own.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for a text that is no such URL.
    pub fn builder(url: &str) -> Result<MySqlBuilder, BackendError> {
        MySqlBuilder::from_url(url)
    }

    /// Begins to set up a storage with connections of its own, made with the driver's options.
    pub fn builder_with_options(options: MySqlConnectOptions) -> MySqlBuilder {
        MySqlBuilder::from_options(options)
    }

    /// Begins to set up a storage on an application's pool, which the application closes. The page of this
    /// module tells the hazards.
    pub fn builder_with_pool(pool: MySqlPool) -> MySqlBuilder {
        MySqlBuilder::from_pool(pool)
    }

    /// How often a call was run again because the server had undone it for the sake of another.
    pub fn retries(&self) -> u64 {
        self.shared.server.retries()
    }

    fn flavour(&self) -> Flavour {
        self.shared.flavour
    }

    async fn send(&self, lane: Lane, message: Message) -> Result<Answer, BackendError> {
        let frame = match lane {
            Lane::KeepAlives => &self.shared.kept_frame,
            Lane::Calls => &self.shared.frame,
        };
        let (text, before) = message.framed(frame);
        let answer = match lane {
            Lane::KeepAlives => self.shared.server.keep_alive(text).await?,
            Lane::Calls => self.shared.server.call(text).await?,
        };
        Ok(Answer { answer, before })
    }
}

impl fmt::Debug for MySqlBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlBackend").field("server", &self.shared.server).finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for MySqlBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            hints: true,
            durable_tokens: true,
            one_call_keep_alive: true,
            ..Capabilities::default()
        }
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
        Some(Box::new(Hints::new(self.clone(), Arc::clone(&self.shared.watchers.changed))))
    }
}
