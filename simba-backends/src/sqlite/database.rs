//! The file: opening connections to it, and noticing that its path names another one.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    ConnectOptions, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteSynchronous},
};

use super::{error, location, schema};
use crate::{BackendError, ErrorKind, Outcome};

/// More rows than any answer has. The driver's thread would else stop in the middle of a message until
/// the caller's runtime has read on, and hold the file's lock meanwhile. (The buffer grows as needed.)
const ROWS_WITHOUT_WAITING: usize = 1 << 30;

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

    pub(super) fn busy_timeout(&self) -> Duration {
        self.busy_timeout
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
        for _ in 0..OPEN_ATTEMPTS {
            let before = self.file();
            let mut driver = self.connect(lane).await?;
            // A file that was not there before, or was replaced meanwhile, is opened once more: only then
            // is it certain which one the connection has.
            match before {
                Some(file) if self.file() == before => {
                    schema::prepare(self, &mut driver).await?;
                    return Ok(Connection { driver, file });
                }
                Some(_) | None => {}
            }
        }
        Err(BackendError::new(
            ErrorKind::Unavailable,
            Outcome::NotApplied,
            format!("the sqlite file {} is being replaced again and again", self.path.display()),
        ))
    }

    async fn connect(&self, lane: &'static str) -> Result<SqliteConnection, BackendError> {
        location::check(&self.path)?;
        let options = SqliteConnectOptions::new()
            .filename(&self.path)
            .create_if_missing(true)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(self.busy_timeout)
            .row_buffer_size(ROWS_WITHOUT_WAITING)
            .thread_name(move |_| format!("simba-{lane}"))
            .disable_statement_logging();
        options.connect().await.map_err(|error| error::of(self, error))
    }
}
