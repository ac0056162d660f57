//! The file: opening connections to it, and noticing that its path names another one.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    ConnectOptions, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteRow, SqliteSynchronous},
};
use tokio::time::Instant;

use super::{
    error, location,
    message::{self, Message},
    schema,
};
use crate::{BackendError, ErrorKind, Outcome};

/// More rows than any answer has. The driver's thread would else stop in the middle of a message until
/// the caller's runtime has read on, and hold the file's lock meanwhile. (The buffer grows as needed.)
const ROWS_WITHOUT_WAITING: usize = 1 << 30;

/// How long SQLite itself waits for the file's lock. It looks ever more seldom, down to every 100 ms, and a
/// writer that waits long then loses to each that has just come; begun anew, all look equally often.
const BUSY_SLICE: Duration = Duration::from_millis(20);

/// How often the path may change its file while we open it.
const OPEN_ATTEMPTS: u32 = 4;

/// Which file it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

/// A connection and the file that it has open.
pub(super) struct Connection {
    pub(super) driver: SqliteConnection,
    pub(super) file: FileId,
}

pub(super) struct Database {
    path: PathBuf,
    busy_timeout: Duration,
}

impl Database {
    pub(super) fn new(path: PathBuf, busy_timeout: Duration) -> Self {
        Self { path, busy_timeout }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a message. The lock is refused to its first statement if at all, so it can be sent again.
    pub(super) async fn exchange(
        &self,
        connection: &mut Connection,
        message: &Message,
    ) -> Result<Vec<Vec<SqliteRow>>, BackendError> {
        let patience = Patience::new(self.busy_timeout);
        loop {
            let answer = message::exchange(&mut connection.driver, message).await;
            match answer.map_err(|failure| error::of(self, failure)) {
                Err(error) if patience.bears(&error) => {}
                result => return result,
            }
        }
    }

    /// The file that the path names now.
    ///
    /// A plain system call on a local file system: as short as reading a clock, so it needs no thread.
    pub(super) fn file(&self) -> Option<FileId> {
        let found = fs::metadata(&self.path).ok()?;
        Some(FileId { device: found.dev(), inode: found.ino() })
    }

    /// Whether the path still names the file that this connection has open.
    pub(super) fn is_current(&self, connection: &Connection) -> bool {
        self.file() == Some(connection.file)
    }

    /// Opens a connection and makes the file and its tables if they are missing.
    pub(super) async fn open(&self, lane: &'static str) -> Result<Connection, BackendError> {
        let patience = Patience::new(self.busy_timeout);
        for _ in 0..OPEN_ATTEMPTS {
            loop {
                match self.open_once(lane).await {
                    Ok(Some(connection)) => return Ok(connection),
                    Ok(None) => break,
                    Err(error) if patience.bears(&error) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Err(BackendError::new(
            ErrorKind::Unavailable,
            Outcome::NotApplied,
            format!("the sqlite file {} is being replaced again and again", self.path.display()),
        ))
    }

    /// `None` where the file was not there before, or was replaced meanwhile: only when it is opened once
    /// more is it certain which one the connection has.
    async fn open_once(&self, lane: &'static str) -> Result<Option<Connection>, BackendError> {
        let before = self.file();
        let mut driver = self.connect(lane).await?;
        match before {
            Some(file) if self.file() == before => {
                schema::prepare(self, &mut driver).await?;
                Ok(Some(Connection { driver, file }))
            }
            Some(_) | None => Ok(None),
        }
    }

    async fn connect(&self, lane: &'static str) -> Result<SqliteConnection, BackendError> {
        location::check(&self.path)?;
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .create_if_missing(true)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(self.busy_timeout.min(BUSY_SLICE))
            .row_buffer_size(ROWS_WITHOUT_WAITING)
            .thread_name(move |_| format!("simba-{lane}"))
            .disable_statement_logging();
        options.connect().await.map_err(|error| error::of(self, error))
    }
}

/// How long a refused lock is still asked for.
struct Patience {
    end: Instant,
}

impl Patience {
    fn new(busy_timeout: Duration) -> Self {
        Self { end: now() + busy_timeout }
    }

    /// Whether the error says that the lock was refused, and it is to be asked for again.
    fn bears(&self, error: &BackendError) -> bool {
        error.kind() == ErrorKind::Timeout && now() < self.end
    }
}

/// Not by counting the slices: each also takes what the machine takes, and together that may be long.
#[expect(clippy::disallowed_methods, reason = "bounds a wait in this process; no lease is measured by it")]
fn now() -> Instant {
    Instant::now()
}
