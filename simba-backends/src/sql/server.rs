//! A server and the connections to it.
//!
//! Everything that one call does is one message, sent in one piece and run to its end by the server whether
//! or not anybody still listens. Keep-alives have a connection of their own, which no other call can make
//! them wait for; everything else takes turns on a pool.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_core::future::BoxFuture;
use sqlx::{Connection, Database, Pool, pool::PoolConnection};
use tokio::{
    sync::{Mutex, oneshot},
    time::timeout,
};
use tracing::debug;

use crate::{BackendError, ErrorKind, Outcome};

/// How often a victim of a deadlock is tried again within one call. Each time another call has won.
const MOST_RETRIES: u32 = 100;

/// What a kind of server adds to the driver for it.
pub(crate) trait Driver: Database {
    /// Runs a message to its end and gives the rows of each statement.
    fn exchange<'c>(
        connection: &'c mut Self::Connection,
        message: &'c str,
    ) -> BoxFuture<'c, sqlx::Result<Vec<Vec<Self::Row>>>>;

    /// What an error of the driver means; `place` names the server without a secret.
    fn meaning(place: &str, error: sqlx::Error) -> BackendError;

    /// Whether the server undid the transaction for the sake of another, so that it can be run again.
    fn is_victim(error: &sqlx::Error) -> bool;
}

/// Whose pool it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// Made by this backend, which may close what is in it.
    Ours,
    /// The application's.
    Theirs,
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
    pool: Pool<D>,
    ownership: Ownership,
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
    /// A server that `place` names without a secret; a call ends after at most `limit` for its connection
    /// and `limit` for its answer.
    pub(crate) fn new(place: String, pool: Pool<D>, ownership: Ownership, limit: Duration) -> Self {
        let (kept, retries) = (Mutex::new(None), AtomicU64::new(0));
        Self { inner: Arc::new(Inner { place, pool, ownership, kept, limit, retries }) }
    }

    /// The server's name, without a secret.
    pub(crate) fn place(&self) -> &str {
        &self.inner.place
    }

    /// The pool of everything but keep-alives.
    pub(crate) fn pool(&self) -> &Pool<D> {
        &self.inner.pool
    }

    /// How often a call was run again because the server had undone it for the sake of another.
    pub(crate) fn retries(&self) -> u64 {
        self.inner.retries.load(Ordering::Relaxed)
    }

    /// Runs a message on the connection that is kept for keep-alives.
    pub(crate) async fn keep_alive(&self, message: String) -> Result<Answer<D>, BackendError> {
        self.run(Way::Kept, message).await
    }

    /// Runs a message on a connection of the pool.
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
                let mut slot = self.kept.lock().await;
                let mut connection = match slot.take() {
                    Some(kept) => kept,
                    None => self.connect().await?,
                };
                let answer = self.exchange(&mut connection, message).await?;
                *slot = Some(connection);
                Ok(answer)
            }
            Way::Pooled => {
                let mut connection = self.checkout().await?;
                let answer = self.exchange(connection.get(), message).await;
                if answer.is_ok() {
                    connection.give_back();
                }
                answer
            }
        }
    }

    async fn connect(&self) -> Result<D::Connection, BackendError> {
        let options = self.pool.connect_options();
        let connecting = timeout(self.limit, D::Connection::connect_with(&options)).await;
        connecting.map_err(|_| self.unanswered("opening a connection"))?.map_err(|error| self.refused(error))
    }

    async fn checkout(&self) -> Result<Checkout<D>, BackendError> {
        let acquiring = timeout(self.limit, self.pool.acquire()).await;
        let acquired = acquiring.map_err(|_| self.unanswered("waiting for a connection of the pool"))?;
        acquired.map(|connection| Checkout(Some(connection))).map_err(|error| self.refused(error))
    }

    /// Nothing was sent yet.
    fn unanswered(&self, what: &str) -> BackendError {
        let message = format!("{what} to {} took longer than {:?}", self.place, self.limit);
        BackendError::new(ErrorKind::Timeout, Outcome::NotApplied, message)
    }

    /// An error from before anything was sent.
    fn refused(&self, error: sqlx::Error) -> BackendError {
        if matches!(error, sqlx::Error::PoolTimedOut) {
            return self.unanswered("waiting for a connection of the pool");
        }
        let meaning = D::meaning(&self.place, error);
        meaning.with_outcome(Outcome::NotApplied)
    }

    async fn exchange(
        &self,
        connection: &mut D::Connection,
        message: &str,
    ) -> Result<Answer<D>, BackendError> {
        let answered = timeout(self.limit, self.until_no_victim(connection, message)).await;
        match answered {
            Ok(Ok(statements)) => Ok(Answer(statements)),
            Ok(Err(error)) => {
                let error = D::meaning(&self.place, error);
                debug!(%error, "connection dropped");
                if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::ReadOnly) {
                    self.drop_idle();
                }
                Err(error)
            }
            Err(_) => {
                let message = format!("no answer from {} within {:?}", self.place, self.limit);
                Err(BackendError::timeout(message))
            }
        }
    }

    async fn until_no_victim(
        &self,
        connection: &mut D::Connection,
        message: &str,
    ) -> sqlx::Result<Vec<Vec<D::Row>>> {
        for _ in 0..MOST_RETRIES {
            match D::exchange(connection, message).await {
                Err(error) if D::is_victim(&error) => {
                    self.retries.fetch_add(1, Ordering::Relaxed);
                    debug!(server = self.place, %error, "run again");
                    D::exchange(connection, "rollback").await?;
                }
                result => return result,
            }
        }
        D::exchange(connection, message).await
    }

    /// After a server has gone, or another has become the one to write to, every idle connection would cost a
    /// call that finds out.
    fn drop_idle(&self) {
        if self.ownership == Ownership::Ours {
            while let Some(idle) = self.pool.try_acquire() {
                drop(idle.detach());
            }
        }
    }

    fn abandoned(&self) -> BackendError {
        BackendError::new(
            ErrorKind::Unavailable,
            Outcome::Unknown,
            format!("the call to {} ended with its runtime", self.place),
        )
    }
}

/// A connection of the pool that is closed instead of given back, unless its message came to its end.
struct Checkout<D: Driver>(Option<PoolConnection<D>>);

impl<D: Driver> Checkout<D> {
    fn get(&mut self) -> &mut D::Connection {
        self.0.as_mut().expect("only give_back takes it, and consumes the checkout")
    }

    fn give_back(&mut self) {
        drop(self.0.take());
    }
}

impl<D: Driver> Drop for Checkout<D> {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(connection.detach());
        }
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
