//! The storage in PostgreSQL 14 or newer, also behind PgBouncer.
//!
//! ```no_run
//! # async fn open() -> Result<(), simba_backends::BackendError> {
//! use simba_backends::postgres::PostgresBackend;
//! let backend = PostgresBackend::connect("postgres://shop:secret@db.example/shop?sslmode=require").await?;
//! # Ok(()) }
//! ```
//!
//! The tables come from `sql/init-simba-postgresql.sql`: run it once, or let
//! [`create_tables`](PostgresBuilder::create_tables) do it. Leases are measured with the database server's
//! wall clock; a step of that clock shortens or lengthens every lease at once.
//!
//! # How it works
//!
//! Everything that one call does is one message, which the server runs to its end whether or not anybody still
//! listens: no lock outlives a round trip, and no row is sent while there is one, so that a process that is
//! stopped holds up nobody. Who finds a row locked does not wait for it (a keep-alive does, for its session's):
//! the name is answered as held. Nothing is prepared, so the same messages work through a pooler that gives
//! each transaction another server.
//!
//! Keep-alives have a connection of their own. Another one listens while anybody waits for a name: a release, a
//! close and a purge tell on the channel `simba` what they freed, after their commit. Through a pooler in
//! transaction mode nothing can be listened to. [`connect`](PostgresBackend::connect) finds that out, says so in
//! the log, and candidates then look again at their regular times.
//!
//! # Durability
//!
//! Tokens and expiries are as durable as the server's commits. The promotion of a standby that had not received
//! the latest of them can take a token back; with `synchronous_commit` and a synchronous standby it cannot.

mod builder;
mod error;
mod group;
mod hints;
mod lease;
mod listen;
mod message;
mod notify;
mod plan;
mod pooler;
mod purge;
mod release;
mod schema;
mod session;
mod take;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use sqlx::{
    PgPool, Postgres,
    postgres::{PgConnectOptions, PgRow},
};

pub use self::builder::PostgresBuilder;
use self::{hints::PostgresHints, listen::Listening, notify::Freed, plan::Plans};
use crate::{
    Acquired, BackendError, Capabilities, GroupName, HintSource, Holder, Joined, KeepAlive, LeaseBackend,
    LeaseName, Member, Metadata, Opened, Release, SessionId, Token,
    sql::{self, PurgeTimer, Server},
};

/// A storage in PostgreSQL. A clone shares its connections.
///
/// # Cancel safety
/// A dropped call is run to its end by the server if it was sent, and its connection is closed; one that was
/// not sent yet is not begun.
#[derive(Clone)]
pub struct PostgresBackend {
    shared: Arc<Shared>,
}

struct Shared {
    server: Server<Postgres>,
    /// How long a statement may take; a little less than a call, so that the server still says why.
    limit: Duration,
    call_timeout: Duration,
    purge: PurgeTimer,
    /// Tells every process what this one freed.
    freed: Freed,
    /// Hears what is told, while anybody wants to know.
    listening: Listening,
    hints: Hinting,
    plans: Plans,
}

/// Whether anything can be listened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hinting {
    Listen,
    /// A pooler is in the way.
    Off,
}

impl PostgresBackend {
    /// Connects to the database that a URL names, `postgres://user:password@host:port/database`. The parameters
    /// are `sslmode` (`prefer` unless set: TLS where the server has it), `sslrootcert`, `sslcert`, `sslkey`, `host`,
    /// `hostaddr`, `port`, `dbname`, `user`, `password`, `application_name` and `options`.
    ///
    /// # Errors
    /// As [`PostgresBuilder::connect`].
    ///
    /// # Cancel safety
    /// Nothing is held by a dropped call.
    pub async fn connect(url: &str) -> Result<Self, BackendError> {
        Self::builder(url)?.connect().await
    }

    /// Begins to set up a storage in the database that a URL names, with connections of its own.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for a text that is no such URL.
    pub fn builder(url: &str) -> Result<PostgresBuilder, BackendError> {
        PostgresBuilder::from_url(url)
    }

    /// Begins to set up a storage with connections of its own, made with the driver's options.
    pub fn builder_with_options(options: PgConnectOptions) -> PostgresBuilder {
        PostgresBuilder::from_options(options)
    }

    /// Begins to set up a storage on the application's pool, which the application closes.
    ///
    /// Keep-alives and hints have connections of their own, opened with the pool's options (and without its
    /// `after_connect`): two more than the pool counts. Everything else waits for its turn: a pool that the
    /// application starves delays acquiring and releasing, but ends no session. A connection that the application
    /// left in a transaction is closed, which rolls that back.
    pub fn builder_with_pool(pool: PgPool) -> PostgresBuilder {
        PostgresBuilder::from_pool(pool)
    }

    /// How often a call was run again because the server had undone it for the sake of another (a deadlock).
    pub fn retries(&self) -> u64 {
        self.server().retries()
    }

    fn server(&self) -> &Server<Postgres> {
        &self.shared.server
    }

    /// Statements that are one transaction, in which each wait for a lock ends after so many milliseconds.
    fn transaction(&self, wait: u128, statements: &str) -> String {
        let limit = self.shared.limit.as_millis();
        message::transaction(wait.min(limit), limit, statements)
    }

    /// Statements that are one transaction and wait for locks as long as a call may take.
    fn patient(&self, statements: &str) -> String {
        self.transaction(u128::MAX, statements)
    }

    /// Tells everybody what a message freed that began by reading its names.
    fn tell_freed(&self, answer: &sql::Answer<Postgres>) {
        let names = answer.rows(message::PRELUDE).iter();
        self.shared.freed.tell(self, names.filter_map(|row| sql::text(row, "name")?.parse().ok()));
    }
}

/// The text of a column that may be padded with blanks.
fn column(row: &PgRow, column: &str) -> Option<String> {
    Some(sql::text(row, column)?.trim_end_matches(' ').to_owned())
}

impl fmt::Debug for PostgresBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PostgresBackend");
        shown.field("place", self.server()).field("hints", &self.shared.hints).finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for PostgresBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            hints: self.shared.hints == Hinting::Listen,
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
        release::release(self, session, leases).await
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
        match self.shared.hints {
            Hinting::Listen => Some(Box::new(PostgresHints::new(self))),
            Hinting::Off => None,
        }
    }
}
