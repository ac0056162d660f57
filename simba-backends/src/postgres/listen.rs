//! The connection that listens, one for all hint sources of a backend.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sqlx::{
    Executor, PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{
    sync::broadcast,
    task::JoinHandle,
    time::{sleep, timeout},
};
use tracing::debug;

use super::{PostgresBackend, notify};
use crate::LeaseName;

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

    /// Resolves when nobody subscribes any more; the task has ended then.
    async fn deserted(&self) {
        loop {
            self.news.closed().await;
            let mut task = self.lock();
            if self.news.receiver_count() == 0 {
                *task = None;
                return;
            }
        }
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
    let listening = &backend.shared.listening;
    tokio::select! {
        biased;
        () = listening.deserted() => {}
        () = listen(&backend) => {}
    }
}

/// Listens for ever, on one connection after the other. Before the first, too, something may have been missed.
async fn listen(backend: &PostgresBackend) {
    let (listening, limit) = (&backend.shared.listening, backend.shared.call_timeout);
    let mut pause = PAUSE;
    loop {
        let options = backend.server().connections().options();
        let error = match Listener::connect(options, notify::CHANNEL, limit).await {
            Ok(mut listener) => {
                pause = PAUSE;
                listening.tell(News::Gap);
                listener.forward(listening, limit).await
            }
            Err(error) => error,
        };
        debug!(server = backend.server().place(), error, "hints interrupted");
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// A connection that listens to one channel.
pub(super) struct Listener {
    driver: PgListener,
    _pool: PgPool,
}

impl Listener {
    /// Only a pool can be listened on; this one has the one connection.
    pub(super) async fn connect(
        options: PgConnectOptions,
        channel: &str,
        limit: Duration,
    ) -> Result<Self, String> {
        let pool = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let pool = pool.acquire_timeout(limit).connect_lazy_with(options.application_name(APPLICATION));
        let connecting = timeout(limit, async {
            let mut driver = PgListener::connect_with(&pool).await?;
            driver.ignore_pool_close_event(true);
            driver.eager_reconnect(false);
            driver.listen(channel).await?;
            Ok(driver)
        });
        match connecting.await {
            Ok(Ok(driver)) => Ok(Self { driver, _pool: pool }),
            Ok(Err::<_, sqlx::Error>(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no connection within {limit:?}")),
        }
    }

    /// The next payload, or why there will be none.
    pub(super) async fn next(&mut self) -> Result<String, String> {
        match self.driver.try_recv().await {
            Ok(Some(notification)) => Ok(notification.payload().to_owned()),
            Ok(None) => Err("the connection was lost".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The number of the server's process behind the connection, just now.
    pub(super) async fn process(&mut self) -> Result<Option<i64>, sqlx::Error> {
        let rows = self.driver.fetch_all(sqlx::raw_sql("select pg_backend_pid()::bigint as pid")).await?;
        Ok(rows.first().and_then(|row| crate::sql::integer(row, "pid")))
    }

    /// Tells what comes in until nothing can come in any more, and why. Also where the connection only seems to
    /// be there.
    async fn forward(&mut self, listening: &Listening, limit: Duration) -> String {
        loop {
            tokio::select! {
                biased;
                payload = self.next() => match payload {
                    Ok(payload) => {
                        let names = notify::names(&payload);
                        if !names.is_empty() {
                            listening.tell(News::Freed(names.into()));
                        }
                    }
                    Err(error) => return error,
                },
                () = sleep(PING) => match timeout(limit, self.process()).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return error.to_string(),
                    Err(_) => return format!("no answer within {limit:?}"),
                },
            }
        }
    }
}
