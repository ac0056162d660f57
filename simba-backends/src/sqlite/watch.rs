//! Hints: looking at the file for changes while somebody waits for a name.
//!
//! `pragma data_version` of a connection that never writes changes with every commit of any other
//! connection, of this process or another. Then, and only then, one read tells which wanted names are
//! free. What this process frees itself is looked at at once. An expiry changes nothing in the file and is
//! not hinted: `free_in` told of it. Nor are changes of a group's members.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use sqlx::sqlite::SqliteRow;
use tokio::{
    sync::{Notify, broadcast, mpsc},
    time::{Interval, MissedTickBehavior},
};
use tracing::debug;

use super::{
    SqliteBackend,
    database::{self, Slot},
    message::{Message, json, now},
};
use crate::{
    BackendError, Hint, LeaseName,
    sql::{FreedNames, Wanted, Watcher, integer, paced, text},
};

/// How long to wait before the file is opened again.
const REOPEN_PAUSE: Duration = Duration::from_millis(200);

const VERSION: &str = "pragma data_version";

const FREE: &str = concat!(
    "select j.value as name, l.token from json_each(?1) j
    left join simba_lease l on l.name = j.value
    left join simba_session s on s.session_id = l.session_id and s.expires_at > ",
    now!(),
    " where s.session_id is null"
);

/// Why to look.
enum Cause {
    /// Time to see whether anything changed.
    Pace,
    /// A name was asked for, or this process freed we know not what.
    All,
    /// This process freed these.
    Freed(Arc<[LeaseName]>),
}

/// Looks for one source.
pub(super) struct SqliteWatcher {
    pub(super) backend: SqliteBackend,
    /// That the source wants another name, or has gone.
    pub(super) changed: Arc<Notify>,
}

impl Watcher for SqliteWatcher {
    fn watch(&self, wanted: &Arc<Wanted>, hints: mpsc::Sender<Hint>) {
        tokio::spawn(Watch::new(self, wanted, hints).run());
    }
}

struct Watch {
    /// Keeps the sender of `freed` alive, so that it never ends.
    backend: SqliteBackend,
    wanted: Arc<Wanted>,
    changed: Arc<Notify>,
    freed: broadcast::Receiver<FreedNames>,
    hints: mpsc::Sender<Hint>,
    pace: Interval,
    connection: Slot,
    /// The data version at the last look at everything.
    version: Option<i64>,
    /// Changes may have been missed since the last look.
    is_interrupted: bool,
}

impl Watch {
    fn new(watcher: &SqliteWatcher, wanted: &Arc<Wanted>, hints: mpsc::Sender<Hint>) -> Self {
        let backend = &watcher.backend;
        let mut pace = tokio::time::interval(backend.shared.hint_poll);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            backend: backend.clone(),
            wanted: Arc::clone(wanted),
            changed: Arc::clone(&watcher.changed),
            freed: backend.shared.freed.subscribe(),
            hints,
            pace,
            connection: backend.shared.database.slot(),
            version: None,
            is_interrupted: false,
        }
    }

    /// Runs until the source is dropped.
    async fn run(mut self) {
        while let Some(cause) = self.cause().await {
            match self.look(&cause).await {
                Ok(hints) => {
                    for hint in hints {
                        // An error says that the source was dropped, which the next cause finds too.
                        let _ = self.hints.send(hint).await;
                    }
                }
                Err(error) => {
                    debug!(%error, "hints interrupted");
                    self.disconnect().await;
                    tokio::time::sleep(REOPEN_PAUSE).await;
                }
            }
        }
    }

    /// Waits until there is a reason to look; `None` when the source was dropped. While nothing is wanted,
    /// only a wish is a reason.
    async fn cause(&mut self) -> Option<Cause> {
        let count = self.wanted.count();
        tokio::select! {
            biased;
            () = self.hints.closed() => None,
            () = self.changed.notified() => Some(Cause::All),
            _ = self.pace.tick(), if count > 0 => {
                self.pace.reset_after(paced(self.backend.shared.hint_poll, count));
                Some(Cause::Pace)
            }
            freed = self.freed.recv(), if count > 0 => match freed {
                Ok(FreedNames::These(names)) => Some(Cause::Freed(names)),
                Ok(FreedNames::Any) | Err(_) => Some(Cause::All),
            },
        }
    }

    async fn look(&mut self, cause: &Cause) -> Result<Vec<Hint>, BackendError> {
        let names = self.names(cause);
        if names.is_empty() {
            return Ok(Vec::new());
        }
        // The version is read before the names: what is committed in between is looked at once more.
        let everything = match cause {
            Cause::Freed(_) => false,
            Cause::All | Cause::Pace => true,
        };
        if everything {
            let seen = Some(self.version().await?);
            if self.version == seen && matches!(cause, Cause::Pace) {
                return Ok(Vec::new());
            }
            self.version = seen;
        }
        let gap = std::mem::take(&mut self.is_interrupted).then_some(Hint::Gap);
        Ok(gap.into_iter().chain(self.free(&names).await?).collect())
    }

    fn names(&self, cause: &Cause) -> BTreeSet<LeaseName> {
        match cause {
            Cause::Pace | Cause::All => self.wanted.all(),
            Cause::Freed(names) => self.wanted.among(names),
        }
    }

    async fn free(&mut self, names: &BTreeSet<LeaseName>) -> Result<Vec<Hint>, BackendError> {
        let rows = self.exchange(Message::new(FREE).text(json(names))).await?;
        let free = rows.iter().flatten().filter_map(|row| {
            let name: LeaseName = text(row, "name")?.parse().ok()?;
            let token = integer(row, "token");
            self.wanted.is_news(&name, token).then_some(Hint::Released { name, waiters: None })
        });
        Ok(free.collect())
    }

    async fn version(&mut self) -> Result<i64, BackendError> {
        let rows = self.exchange(Message::new(VERSION)).await?;
        Ok(rows.iter().flatten().find_map(|row| integer(row, "data_version")).unwrap_or_default())
    }

    async fn exchange(&mut self, message: Message) -> Result<Vec<Vec<SqliteRow>>, BackendError> {
        let database = Arc::clone(&self.backend.shared.database);
        let slot = Arc::clone(&self.connection);
        let mut slot = slot.lock().await;
        if let Some(outdated) = slot.take_if(|connection| !database.is_current(connection)) {
            database::close(outdated).await;
        }
        let connection = match &mut *slot {
            Some(connection) => connection,
            None => {
                // The data version of one connection means nothing to another.
                self.is_interrupted |= self.version.take().is_some();
                slot.insert(database.open("hints").await?)
            }
        };
        database.exchange(connection, &message).await
    }

    async fn disconnect(&mut self) {
        if let Some(broken) = self.connection.lock().await.take() {
            database::close(broken).await;
        }
        self.version = None;
        self.is_interrupted = true;
    }
}
