//! The file: opening connections to it, and noticing that its path names another one.

use std::{
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection as _, SqliteConnection,
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
    companions: Arc<Companions>,
}

/// The log and its index, which belong to a file for as long as anybody has it open. Who opens it after they
/// were removed gets new ones, and is in another world from then on.
struct Companions {
    file: FileId,
    log_and_index: [(PathBuf, FileId); 2],
}

/// Of all connections of this process, because SQLite lends the index of the log that one of them has open to
/// each that is opened to the same file later.
static IN_USE: Mutex<Vec<Weak<Companions>>> = Mutex::new(Vec::new());

impl Companions {
    /// `None` where one is missing.
    fn find(path: &Path, file: FileId) -> Option<Arc<Self>> {
        // SQLite puts them beside the file itself, also where the path is a link.
        let path = fs::canonicalize(path).ok()?;
        let companion = |ending: &str| {
            let path = PathBuf::from([path.as_os_str(), ending.as_ref()].into_iter().collect::<OsString>());
            file_at(&path).map(|file| (path, file))
        };
        let found = Arc::new(Self { file, log_and_index: [companion("-wal")?, companion("-shm")?] });
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|known| known.strong_count() > 0);
        in_use.push(Arc::downgrade(&found));
        Some(found)
    }

    fn are_there(&self) -> bool {
        self.log_and_index.iter().all(|(path, file)| file_at(path) == Some(*file))
    }

    /// Whether a connection of this process has the file open with a log or an index that was removed.
    fn are_outdated(file: FileId) -> bool {
        let in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        in_use.iter().filter_map(Weak::upgrade).any(|known| known.file == file && !known.are_there())
    }
}

/// Where a connection is kept between two messages.
pub(super) type Slot = Arc<tokio::sync::Mutex<Option<Connection>>>;

pub(super) struct Database {
    path: PathBuf,
    busy_timeout: Duration,
    slots: Mutex<Vec<Weak<tokio::sync::Mutex<Option<Connection>>>>>,
}

impl Database {
    pub(super) fn new(path: PathBuf, busy_timeout: Duration) -> Self {
        Self { path, busy_timeout, slots: Mutex::default() }
    }

    /// A slot that is emptied when its connection turns out to be outdated, also while nobody uses it.
    pub(super) fn slot(&self) -> Slot {
        let slot = Slot::default();
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|slot| slot.strong_count() > 0);
        slots.push(Arc::downgrade(&slot));
        slot
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
    pub(super) fn file(&self) -> Option<FileId> {
        file_at(&self.path)
    }

    /// Whether the paths still name the files that this connection has open.
    pub(super) fn is_current(&self, connection: &Connection) -> bool {
        self.file() == Some(connection.file) && connection.companions.are_there()
    }

    /// Closes what is outdated and not in use.
    async fn close_outdated(&self) {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for slot in slots.iter().filter_map(Weak::upgrade) {
            // One in use is looked at by its user.
            let Ok(mut slot) = slot.try_lock() else { continue };
            if let Some(outdated) = slot.take_if(|connection| !self.is_current(connection)) {
                close(outdated).await;
            }
        }
    }

    /// Opens a connection and makes the file and its tables if they are missing.
    pub(super) async fn open(&self, lane: &'static str) -> Result<Connection, BackendError> {
        let patience = Patience::new(self.busy_timeout);
        self.close_outdated().await;
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
            format!(
                "the sqlite file {0}, or {0}-wal or {0}-shm, was replaced or removed while in use: end what has \
                 it open",
                self.path.display()
            ),
        ))
    }

    /// `None` where the file was not there before, or was replaced meanwhile: only when it is opened once
    /// more is it certain which one the connection has.
    async fn open_once(&self, lane: &'static str) -> Result<Option<Connection>, BackendError> {
        let before = self.file();
        if before.is_some_and(Companions::are_outdated) {
            return Ok(None);
        }
        let mut driver = self.connect(lane).await?;
        match before {
            Some(file) if self.file() == before => {
                schema::prepare(self, &mut driver).await?;
                let companions = Companions::find(&self.path, file);
                Ok(companions.map(|companions| Connection { driver, file, companions }))
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

/// Waits until the files are closed: a connection that is dropped closes them some time later.
pub(super) async fn close(connection: Connection) {
    let Connection { driver, file: _, companions } = connection;
    // What could not be written at the end is in the log.
    let _ = driver.close().await;
    drop(companions);
}

/// A plain system call on a local file system: as short as reading a clock, so it needs no thread.
fn file_at(path: &Path) -> Option<FileId> {
    let found = fs::metadata(path).ok()?;
    Some(FileId { device: found.dev(), inode: found.ino() })
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
