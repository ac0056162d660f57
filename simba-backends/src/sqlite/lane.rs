//! A lane: one connection that calls of one kind use one after the other.

use std::sync::Arc;

use sqlx::sqlite::SqliteRow;
use tokio::sync::oneshot;
use tracing::debug;

use super::{
    database::{self, Connection, Database, FileId, Slot},
    message::Message,
};
use crate::{BackendError, ErrorKind, Outcome};

/// The rows of each statement of a message, and the file they come from.
pub(super) struct Answer {
    pub(super) statements: Vec<Vec<SqliteRow>>,
    pub(super) file: FileId,
}

impl Answer {
    /// The rows of the statement of that number, counted from 0.
    pub(super) fn rows(&self, statement: usize) -> &[SqliteRow] {
        self.statements.get(statement).map_or(&[], Vec::as_slice)
    }
}

#[derive(Clone)]
pub(super) struct Lane {
    inner: Arc<Inner>,
}

struct Inner {
    name: &'static str,
    database: Arc<Database>,
    /// Empty while a message is under way, so that one that fails or is abandoned half-way takes its
    /// connection, and with it the transaction it may have left open, along.
    connection: Slot,
}

impl Lane {
    pub(super) fn new(name: &'static str, database: &Arc<Database>) -> Self {
        let inner = Inner { name, database: Arc::clone(database), connection: database.slot() };
        Self { inner: Arc::new(inner) }
    }

    /// Opens the connection if there is none.
    pub(super) async fn open(&self) -> Result<(), BackendError> {
        self.run(Message::new("select 1")).await.map(|_| ())
    }

    /// Runs a message when its turn comes.
    ///
    /// In a task of its own, because a dropped future of the driver could leave a transaction open. One
    /// whose asker is gone before its turn is not begun.
    pub(super) async fn run(&self, message: Message) -> Result<Answer, BackendError> {
        let (answer, answered) = oneshot::channel();
        let lane = Arc::clone(&self.inner);
        tokio::spawn(async move {
            let mut connection = lane.connection.lock().await;
            if answer.is_closed() {
                return;
            }
            let result = lane.exchange(&mut connection, message).await;
            drop(connection);
            // An error only says that nobody waits any more.
            let _ = answer.send(result);
        });
        answered.await.unwrap_or_else(|_| Err(self.inner.abandoned()))
    }
}

impl Inner {
    async fn exchange(
        &self,
        slot: &mut Option<Connection>,
        message: Message,
    ) -> Result<Answer, BackendError> {
        let mut connection = self.connection(slot.take()).await?;
        match self.database.exchange(&mut connection, &message).await {
            Ok(statements) => {
                let file = connection.file;
                if self.database.is_current(&connection) {
                    *slot = Some(connection);
                } else {
                    database::close(connection).await;
                }
                Ok(Answer { statements, file })
            }
            Err(error) => {
                debug!(lane = self.name, %error, "sqlite connection dropped");
                database::close(connection).await;
                Err(error)
            }
        }
    }

    async fn connection(&self, kept: Option<Connection>) -> Result<Connection, BackendError> {
        match kept {
            Some(kept) if self.database.is_current(&kept) => return Ok(kept),
            Some(outdated) => database::close(outdated).await,
            None => {}
        }
        self.database.open(self.name).await
    }

    fn abandoned(&self) -> BackendError {
        BackendError::new(
            ErrorKind::Unavailable,
            Outcome::Unknown,
            format!("the call to {} ended with its runtime", self.database.path().display()),
        )
    }
}
