//! Setting up the storage.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{Shared, SqliteBackend, database::Database, lane::Lane, location, session::Homes};
use crate::{
    BackendError,
    sql::{Freed, PurgeTimer},
};

/// What SQLite's interface counts milliseconds in ends here; nobody waits that long.
const LONGEST_BUSY_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// A hint is due within a second, and the pace slows down with the number of names.
const SLOWEST_HINT_POLL: Duration = Duration::from_millis(250);

/// The settings of a [`SqliteBackend`].
#[derive(Clone, Debug)]
pub struct SqliteBuilder {
    /// A path, or a URL that is not parsed yet.
    given: PathBuf,
    purge_interval: Duration,
    busy_timeout: Duration,
    hint_poll: Duration,
}

impl SqliteBuilder {
    pub(super) fn new(given: &Path) -> Self {
        Self {
            given: given.to_owned(),
            purge_interval: Duration::from_secs(60),
            busy_timeout: Duration::from_secs(5),
            hint_poll: Duration::from_millis(25),
        }
    }

    /// Sets how often, at most, dead sessions are looked for. 60 s unless set.
    #[must_use]
    pub fn purge_interval(mut self, interval: Duration) -> Self {
        self.purge_interval = interval;
        self
    }

    /// Sets how long a call waits for the file's lock, which another process may hold. 5 s unless set.
    ///
    /// Long enough for every writer of the file to have its turn; a call that ran out of it fails with
    /// [`Timeout`](crate::ErrorKind::Timeout) and changed nothing.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets how often the file is looked at for changes of other processes while a name is waited for.
    /// 25 ms unless set, at most 250 ms.
    #[must_use]
    pub fn hint_poll(mut self, pace: Duration) -> Self {
        self.hint_poll = pace;
        self
    }

    /// Opens the file, and makes it and its tables if they are missing.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for a URL, path or setting that cannot work,
    /// [`Schema`](crate::ErrorKind::Schema) for a file that is no database or whose tables are not
    /// Simba's, [`ReadOnly`](crate::ErrorKind::ReadOnly), [`Unavailable`](crate::ErrorKind::Unavailable)
    /// and [`Timeout`](crate::ErrorKind::Timeout) as the file system and other processes have it.
    ///
    /// # Cancel safety
    /// A dropped call may leave an empty file with or without tables.
    pub async fn connect(self) -> Result<SqliteBackend, BackendError> {
        self.check()?;
        let path = location::resolve(&self.given)?;
        let database = Arc::new(Database::new(path, self.busy_timeout));
        let keep_alives = Lane::new("keep-alives", &database);
        keep_alives.open().await?;
        let shared = Shared {
            keep_alives,
            writes: Lane::new("writes", &database),
            reads: Lane::new("reads", &database),
            database,
            homes: Homes::default(),
            purge: PurgeTimer::new(self.purge_interval),
            freed: Freed::default(),
            hint_poll: self.hint_poll,
        };
        Ok(SqliteBackend { shared: Arc::new(shared) })
    }

    fn check(&self) -> Result<(), BackendError> {
        let fits = |value: Duration, most: Duration| value >= Duration::from_millis(1) && value <= most;
        if !fits(self.busy_timeout, LONGEST_BUSY_TIMEOUT) {
            return Err(BackendError::config("the busy timeout of a sqlite storage is from 1 ms to a day"));
        }
        if !fits(self.hint_poll, SLOWEST_HINT_POLL) {
            return Err(BackendError::config("the hint poll of a sqlite storage is from 1 to 250 ms"));
        }
        Ok(())
    }
}
