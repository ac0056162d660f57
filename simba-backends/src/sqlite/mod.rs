//! The storage in a SQLite file: for several processes of one host, and for the first run.
//!
//! ```no_run
//! # async fn open() -> Result<(), simba_backends::BackendError> {
//! use simba_backends::sqlite::SqliteBackend;
//! let backend = SqliteBackend::connect("sqlite:///var/lib/shop/simba.db").await?;
//! # Ok(()) }
//! ```
//!
//! # What it is not for
//!
//! Network file systems and several hosts: SQLite's locks and its shared memory end at the host. All
//! processes measure leases with the host's wall clock; a step of it is a step of the storage's clock.
//!
//! # How it works
//!
//! Everything that one call changes is one message: its statements run in one go on the connection's own
//! thread, and no lock is ever held while that thread waits for the caller. A process that is stopped
//! (`SIGSTOP`, a debugger) within the microseconds of such a message still blocks every writer of the
//! file until it goes on.
//!
//! Each kind of call has a lane, a connection of its own, so that a write that waits for the
//! file's lock never holds up a keep-alive. Every lane looks whether the path still names the file that
//! it has open; sessions of a file that was replaced or deleted are lost. Where only its `-wal` or `-shm` was,
//! all lanes open the file anew, and what it says then counts.
//! (Who replaces a file takes its `-wal` and `-shm` away with it, and stops what uses it if they can: to
//! SQLite itself two files under one name are not safe.)

mod builder;
mod database;
mod error;
mod group;
mod lane;
mod lease;
mod location;
mod message;
mod purge;
mod schema;
mod session;
#[cfg(test)]
mod tests;
mod watch;

use std::{fmt, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::sync::Notify;

pub use self::builder::SqliteBuilder;
use self::{database::Database, lane::Lane, session::Homes, watch::SqliteWatcher};
use crate::{
    Acquired, BackendError, Capabilities, ClockSource, GroupName, HintSource, Holder, Joined, KeepAlive,
    LeaseBackend, LeaseName, Member, Metadata, Opened, Release, SessionId, Token,
    sql::{Freed, Hints, PurgeTimer},
};

/// A storage in a SQLite file. A clone shares its connections.
///
/// # Cancel safety
/// A call that was begun runs to its end, also when its future is dropped; one that still waits for its
/// turn then is not begun.
#[derive(Clone)]
pub struct SqliteBackend {
    shared: Arc<Shared>,
}

struct Shared {
    database: Arc<Database>,
    /// Sessions are opened and kept alive here: nothing else may make a keep-alive wait.
    keep_alives: Lane,
    writes: Lane,
    reads: Lane,
    /// Which file each session was opened in.
    homes: Homes,
    purge: PurgeTimer,
    /// Tells this process's hint sources of what this process freed, sooner than they would notice.
    freed: Freed,
    hint_poll: Duration,
}

impl SqliteBackend {
    /// Opens the file that a URL names, and makes it and its tables if they are missing.
    ///
    /// `sqlite://relative.db`, `sqlite:relative.db` and `sqlite:///absolute.db` are URLs; `%XX` stands for
    /// a byte of the path.
    ///
    /// # Errors
    /// As [`SqliteBuilder::connect`].
    ///
    /// # Cancel safety
    /// A dropped call may leave an empty file with or without tables.
    pub async fn connect(url: &str) -> Result<Self, BackendError> {
        Self::builder(url).connect().await
    }

    /// Begins to set up a storage in a file, given by its path or as a `sqlite:` URL.
    pub fn builder(path: impl AsRef<Path>) -> SqliteBuilder {
        SqliteBuilder::new(path.as_ref())
    }
}

impl fmt::Debug for SqliteBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteBackend").field("path", &self.shared.database.path()).finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for SqliteBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            hints: true,
            durable_tokens: true,
            one_call_keep_alive: true,
            clock: ClockSource::HostWallClock,
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
        session::close(self, &self.shared.writes, session).await
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
        let changed = Arc::<Notify>::default();
        let watcher = SqliteWatcher { backend: self.clone(), changed: Arc::clone(&changed) };
        Some(Box::new(Hints::new(watcher, changed)))
    }
}
