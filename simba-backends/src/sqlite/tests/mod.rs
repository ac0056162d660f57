//! What a file of its own can show; the contract itself is certified by `simba-tck`.

mod files;
mod hints;
mod leases;
mod load;
mod sessions;

use std::{path::PathBuf, time::Duration};

use sqlx::{ConnectOptions, Row, SqliteConnection, sqlite::SqliteConnectOptions};

use super::SqliteBackend;
use crate::{
    Acquired, Acquisition, BackendError, GroupName, KeepAlive, LeaseBackend, LeaseName, Metadata, SessionId,
    Token,
};

/// A lease that does not run out within a test.
const LONG: Duration = Duration::from_secs(60);

/// Longer than anything here takes.
const BOUND: Duration = Duration::from_secs(20);

/// A directory of its own, removed at the end.
struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("simba-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("simba.db")
    }

    async fn backend(&self) -> SqliteBackend {
        SqliteBackend::builder(self.file()).connect().await.unwrap()
    }

    /// Another client of the file, which knows nothing of Simba.
    async fn stranger(&self) -> Stranger {
        let options = SqliteConnectOptions::new().filename(self.file()).create_if_missing(true);
        Stranger(options.busy_timeout(BOUND).connect().await.unwrap())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Connections close on threads of their own, and SQLite then removes files itself.
        for _ in 0..100 {
            if std::fs::remove_dir_all(&self.0).is_ok() {
                return;
            }
        }
    }
}

struct Stranger(SqliteConnection);

impl Stranger {
    async fn run(&mut self, sql: &str) {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut self.0).await.unwrap();
    }

    async fn count(&mut self, table: &str) -> i64 {
        let sql = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
        sqlx::query(sql).fetch_one(&mut self.0).await.unwrap().get(0)
    }
}

fn name(text: &str) -> LeaseName {
    text.parse().unwrap()
}

fn group(text: &str) -> GroupName {
    text.parse().unwrap()
}

async fn open(backend: &SqliteBackend, lease: Duration) -> SessionId {
    backend.open_session(lease, &Metadata::default()).await.unwrap().session
}

async fn acquire(
    backend: &SqliteBackend,
    session: &SessionId,
    names: &[&str],
) -> Vec<(LeaseName, Acquisition)> {
    let names: Vec<_> = names.iter().map(|text| name(text)).collect();
    match backend.acquire(session, &names).await.unwrap() {
        Acquired::Answers(answers) => answers,
        Acquired::Expired => panic!("the session has expired"),
    }
}

async fn granted(backend: &SqliteBackend, session: &SessionId, text: &str) -> Token {
    match acquire(backend, session, &[text]).await.remove(0) {
        (_, Acquisition::Granted { token, remaining }) => {
            assert!(remaining > Duration::ZERO && remaining <= LONG, "{remaining:?}");
            token
        }
        (name, other) => panic!("{name}: {other:?}"),
    }
}

/// What the session holds, or `None` where it has expired.
async fn owned(backend: &SqliteBackend, session: &SessionId) -> Option<Vec<(LeaseName, Token)>> {
    match backend.keep_alive(session, LONG).await.unwrap() {
        KeepAlive::Live { mut owned, .. } => {
            owned.sort();
            Some(owned)
        }
        KeepAlive::Expired => None,
    }
}

/// Asks again and again until the answer is yes.
async fn eventually(what: &str, mut question: impl AsyncFnMut() -> bool) {
    for _ in 0..BOUND.as_millis() / 10 {
        if question().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within {BOUND:?}: {what}");
}

async fn refused(builder: super::SqliteBuilder) -> BackendError {
    builder.connect().await.expect_err("it cannot be opened")
}
