//! The connection that listens, one for all hint sources of a backend.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sqlx::{
    Executor, PgPool, Postgres,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::{
    sync::broadcast,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tracing::debug;

use super::{PostgresBackend, error, notify};
use crate::{
    BackendError, ErrorKind, LeaseName, Outcome,
    sql::{Server, integer},
};

/// Asks for the server's process behind a connection.
pub(super) const PROCESS: &str = "select pg_backend_pid()::bigint as pid";

/// How far a source may lag behind before it is told of a gap.
const BUFFER: usize = 1024;

/// How the connection is called in the server's list of them.
const APPLICATION: &str = "simba hints";

/// How long to wait before the next connection, at first and at most.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How often a connection on which nothing comes in is asked whether it is still one.
const PING: Duration = Duration::from_secs(2);

/// What all sources are told.
#[derive(Clone)]
pub(super) enum News {
    Freed(Arc<[LeaseName]>),
    /// Something may have been missed.
    Gap,
    /// Nobody listens any more: the runtime that did has ended.
    Ended,
}

pub(super) struct Listening {
    news: broadcast::Sender<News>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Default for Listening {
    fn default() -> Self {
        Self { news: broadcast::channel(BUFFER).0, task: Mutex::default() }
    }
}

impl Listening {
    pub(super) fn subscribe(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    /// Begins to listen, until the last subscriber is gone.
    pub(super) fn start(&self, backend: &PostgresBackend) {
        let mut task = self.lock();
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(run(backend.clone())));
        }
    }

    /// The task is no more, however it ended.
    fn ended(&self) {
        *self.lock() = None;
        self.tell(News::Ended);
    }

    fn tell(&self, news: News) {
        // An error only says that nobody subscribes.
        let _ = self.news.send(news);
    }

    fn lock(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(backend: PostgresBackend) {
    let _farewell = Farewell(backend.clone());
    let listening = &backend.shared.listening;
    tokio::select! {
        biased;
        () = listening.news.closed() => {}
        () = listen(&backend) => {}
    }
}

/// Tells of the end of the task also where its runtime has just dropped it.
struct Farewell(PostgresBackend);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.shared.listening.ended();
    }
}

/// Listens for ever, on one connection after the other. Before the first, too, something may have been missed.
async fn listen(backend: &PostgresBackend) {
    let mut pause = PAUSE;
    loop {
        let error = match open(backend).await {
            Ok(mut listener) => {
                pause = PAUSE;
                backend.shared.listening.tell(News::Gap);
                listener.forward(backend).await
            }
            Err(error) => error,
        };
        debug!(%error, "hints interrupted");
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn open(backend: &PostgresBackend) -> Result<Listener, BackendError> {
    let mut listener = Listener::connect(backend.server(), backend.shared.call_timeout).await?;
    listener.listen(backend.server(), notify::CHANNEL).await?;
    Ok(listener)
}

/// A connection that can listen.
pub(super) struct Listener {
    driver: PgListener,
    _pool: PgPool,
    limit: Duration,
}

impl Listener {
    /// Only a pool can be listened on; this one has the one connection.
    pub(super) async fn connect(server: &Server<Postgres>, limit: Duration) -> Result<Self, BackendError> {
        let options = server.connections().options().application_name(APPLICATION);
        let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let pool = pool.acquire_timeout(limit).connect_lazy_with(options);
        match timeout(limit, PgListener::connect_with(&pool)).await {
            Ok(Ok(mut driver)) => {
                driver.ignore_pool_close_event(true);
                driver.eager_reconnect(false);
                Ok(Self { driver, _pool: pool, limit })
            }
            Ok(Err(sqlx::Error::PoolTimedOut)) | Err(_) => Err(unanswered(server, limit)),
            Ok(Err(error)) => Err(error::of(server.place(), error)),
        }
    }

    pub(super) async fn listen(
        &mut self,
        server: &Server<Postgres>,
        channel: &str,
    ) -> Result<(), BackendError> {
        match timeout(self.limit, self.driver.listen(channel)).await {
            Ok(listening) => listening.map_err(|error| error::of(server.place(), error)),
            Err(_) => Err(unanswered(server, self.limit)),
        }
    }

    /// The number of the server's process behind the connection, just now.
    pub(super) async fn process(&mut self, server: &Server<Postgres>) -> Result<Option<i64>, BackendError> {
        let ask = self.driver.fetch_all(sqlx::raw_sql(PROCESS));
        match timeout(self.limit, ask).await {
            Ok(Ok(rows)) => Ok(rows.first().and_then(|row| integer(row, "pid"))),
            Ok(Err(error)) => Err(error::of(server.place(), error)),
            Err(_) => Err(unanswered(server, self.limit)),
        }
    }

    /// The next payload, or why there will be none.
    pub(super) async fn next(&mut self, server: &Server<Postgres>) -> Result<String, BackendError> {
        match self.driver.try_recv().await {
            Ok(Some(notification)) => Ok(notification.payload().to_owned()),
            Ok(None) => Err(BackendError::new(
                ErrorKind::Unavailable,
                Outcome::NotApplied,
                format!("the connection to {} was lost", server.place()),
            )),
            Err(error) => Err(error::of(server.place(), error)),
        }
    }

    /// Tells what comes in until nothing can come in any more, and why. Also where the connection only seems to
    /// be there.
    async fn forward(&mut self, backend: &PostgresBackend) -> BackendError {
        let server = backend.server();
        loop {
            tokio::select! {
                biased;
                payload = self.next(server) => match payload {
                    Ok(payload) => {
                        let names = notify::names(&payload);
                        if !names.is_empty() {
                            backend.shared.listening.tell(News::Freed(names.into()));
                        }
                    }
                    Err(error) => return error,
                },
                () = sleep(PING) => {
                    if let Err(error) = self.process(server).await {
                        return error;
                    }
                }
            }
        }
    }
}

fn unanswered(server: &Server<Postgres>, limit: Duration) -> BackendError {
    let message = format!("no answer from {} within {limit:?}", server.place());
    BackendError::new(ErrorKind::Timeout, Outcome::NotApplied, message)
}
