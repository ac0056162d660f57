//! A server and the connections to it.
//!
//! Everything that one call does is one message, sent in one piece and run to its end by the server whether
//! or not anybody still listens. Keep-alives have a connection of their own, which no other call can make
//! them wait for; everything else takes turns on a pool.

use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_core::future::BoxFuture;
use sqlx::Database;
use tokio::{
    sync::{Mutex, oneshot},
    time::timeout,
};
use tracing::debug;

use super::connections::{Connections, NoConnection};
use crate::{BackendError, ErrorKind, Outcome};

/// How often a victim of a deadlock is tried again within one call. Each time another call has won.
const MOST_RETRIES: u32 = 100;

/// What a kind of server adds to the driver for it.
pub(crate) trait Driver: Database {
    /// Runs a message to its end and gives the rows of each statement.
    fn exchange<'c>(
        connection: &'c mut Self::Connection,
        message: &'c str,
    ) -> BoxFuture<'c, Result<Vec<Vec<Self::Row>>, Failure>>;

    /// What an error of the driver means, when nothing was committed yet; `place` names the server without a
    /// secret.
    fn meaning(place: &str, error: sqlx::Error) -> BackendError;

    /// The message as it is run again after the server undid its transaction; with as many statements.
    fn again(message: &str) -> String {
        message.to_owned()
    }

    /// Whether the server undid the transaction for the sake of another, so that it can be run again.
    fn is_victim(error: &sqlx::Error) -> bool;
}

/// Why a message did not come to its end.
pub(crate) struct Failure {
    pub(crate) error: sqlx::Error,
    /// Whether the message had been through its `commit` by then.
    pub(crate) is_committed: bool,
}

/// Nothing was committed yet.
impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self { error, is_committed: false }
    }
}

/// The rows of each statement of a message.
pub(crate) struct Answer<D: Driver>(Vec<Vec<D::Row>>);

impl<D: Driver> Answer<D> {
    /// The rows of the statement of that number, counted from 0 over all that the message has.
    pub(crate) fn rows(&self, statement: usize) -> &[D::Row] {
        self.0.get(statement).map_or(&[], Vec::as_slice)
    }
}

pub(crate) struct Server<D: Driver> {
    inner: Arc<Inner<D>>,
}

struct Inner<D: Driver> {
    place: String,
    connections: Connections<D>,
    /// Empty while a message is under way, so that one that fails or is abandoned takes its connection along.
    kept: Mutex<Option<D::Connection>>,
    limit: Duration,
    retries: AtomicU64,
}

/// Which connection a message takes.
#[derive(Clone, Copy)]
enum Way {
    Kept,
    Pooled,
}

impl<D: Driver> Server<D> {
    /// A server that `place` names without a secret; a call ends after at most `limit` for its turn, `limit`
    /// for a new connection and `limit` for its answer.
    pub(crate) fn new(place: String, connections: Connections<D>, limit: Duration) -> Self {
        let (kept, retries) = (Mutex::new(None), AtomicU64::new(0));
        Self { inner: Arc::new(Inner { place, connections, kept, limit, retries }) }
    }

    /// The server's name, without a secret.
    pub(crate) fn place(&self) -> &str {
        &self.inner.place
    }

    /// The connections of everything but keep-alives.
    #[cfg(feature = "postgres")]
    pub(crate) fn connections(&self) -> &Connections<D> {
        &self.inner.connections
    }

    /// Closes the connections that are not in use: who connects may be on another runtime than who calls, and a
    /// connection is served by the runtime that it was opened on.
    pub(crate) async fn let_go(&self) {
        *self.inner.kept.lock().await = None;
        self.inner.connections.drop_idle();
    }

    /// How often a call was run again because the server had undone it for the sake of another.
    pub(crate) fn retries(&self) -> u64 {
        self.inner.retries.load(Ordering::Relaxed)
    }

    /// Runs a message on the connection that is kept for keep-alives.
    pub(crate) async fn keep_alive(&self, message: String) -> Result<Answer<D>, BackendError> {
        self.run(Way::Kept, message).await
    }

    /// Runs a message on one of the other connections.
    pub(crate) async fn call(&self, message: String) -> Result<Answer<D>, BackendError> {
        self.run(Way::Pooled, message).await
    }

    /// In a task of its own: a dropped future of the driver leaves its connection in the middle of an
    /// exchange. Here the task outlives its asker just long enough to close that connection.
    async fn run(&self, way: Way, message: String) -> Result<Answer<D>, BackendError> {
        let (mut answer, answered) = oneshot::channel();
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            let result = tokio::select! {
                biased;
                () = answer.closed() => return debug!(server = inner.place, "call abandoned"),
                result = inner.perform(way, &message) => result,
            };
            // An error only says that nobody waits any more.
            let _ = answer.send(result);
        });
        answered.await.unwrap_or_else(|_| Err(self.inner.abandoned()))
    }
}

impl<D: Driver> Inner<D> {
    async fn perform(&self, way: Way, message: &str) -> Result<Answer<D>, BackendError> {
        match way {
            Way::Kept => {
                let turn = timeout(self.limit, self.kept.lock()).await;
                let mut slot = turn.map_err(|_| self.none(NoConnection::Starved))?;
                let mut connection = match slot.take() {
                    Some(kept) => kept,
                    None => self.connections.open(self.limit).await.map_err(|why| self.none(why))?,
                };
                let answer = self.exchange(&mut connection, message).await?;
                *slot = Some(connection);
                Ok(answer)
            }
            Way::Pooled => {
                let checkout = self.connections.checkout(self.limit).await;
                let mut connection = checkout.map_err(|why| self.none(why))?;
                let answer = self.exchange(connection.get(), message).await?;
                connection.give_back();
                Ok(answer)
            }
        }
    }

    /// Nothing was sent yet.
    fn none(&self, why: NoConnection) -> BackendError {
        let (place, limit) = (&self.place, self.limit);
        let message = match why {
            NoConnection::Refused(error) => {
                return D::meaning(place, error).with_outcome(Outcome::NotApplied);
            }
            NoConnection::Starved => format!(
                "all connections to {place} were in use for {limit:?}: give the backend more of them, or find \
                 what keeps them"
            ),
            NoConnection::Unanswered => format!("no connection to {place} within {limit:?}"),
        };
        BackendError::new(ErrorKind::Timeout, Outcome::NotApplied, message)
    }

    async fn exchange(
        &self,
        connection: &mut D::Connection,
        message: &str,
    ) -> Result<Answer<D>, BackendError> {
        match timeout(self.limit, self.until_no_victim(connection, message)).await {
            Ok(Ok(statements)) => Ok(Answer(statements)),
            Ok(Err(Failure { error, is_committed })) => {
                let meaning = D::meaning(&self.place, error);
                debug!(error = %meaning, "connection dropped");
                if matches!(meaning.kind(), ErrorKind::Unavailable | ErrorKind::ReadOnly) {
                    self.connections.drop_idle();
                }
                Err(if is_committed { meaning.with_outcome(Outcome::Unknown) } else { meaning })
            }
            Err(_) => {
                self.connections.drop_idle();
                let message = format!("no answer from {} within {:?}", self.place, self.limit);
                Err(BackendError::timeout(message))
            }
        }
    }

    async fn until_no_victim(
        &self,
        connection: &mut D::Connection,
        message: &str,
    ) -> Result<Vec<Vec<D::Row>>, Failure> {
        let mut message = Cow::Borrowed(message);
        for _ in 0..MOST_RETRIES {
            match D::exchange(connection, &message).await {
                Err(failure) if !failure.is_committed && D::is_victim(&failure.error) => {
                    self.retries.fetch_add(1, Ordering::Relaxed);
                    debug!(server = self.place, error = %failure.error, "run again");
                    D::exchange(connection, "rollback").await?;
                    message = Cow::Owned(D::again(&message));
                }
                result => return result,
            }
        }
        D::exchange(connection, &message).await
    }

    fn abandoned(&self) -> BackendError {
        BackendError::new(
            ErrorKind::Unavailable,
            Outcome::Unknown,
            format!("the call to {} ended with its runtime", self.place),
        )
    }
}

impl<D: Driver> Clone for Server<D> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<D: Driver> fmt::Debug for Server<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.place)
    }
}
