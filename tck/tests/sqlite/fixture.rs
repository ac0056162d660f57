//! A SQLite file of its own for each test.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use simba_backends::{BackendError, ErrorKind, LeaseBackend, LeaseName, SessionId, sqlite::SqliteBackend};
use simba_tck::{Census, Clock, Contest, Fault, Fixture, Lack, Misuse, Outage, Power, Rival, async_trait};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Executor, SqliteConnection, sqlite::SqliteConnectOptions,
};

use crate::rival::Child;

/// Short, so that the purge can be waited for.
const PURGE_INTERVAL: Duration = Duration::from_secs(2);

/// A directory with the file in it, deleted at the end.
pub(crate) struct Sqlite {
    directory: PathBuf,
}

impl Sqlite {
    pub(crate) fn new() -> Self {
        let directory = std::env::temp_dir().join(format!("simba-tck-{}", SessionId::random()));
        fs::create_dir(&directory).unwrap();
        Self { directory }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.join("simba.db")
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite://{}", self.file().display())
    }

    /// What stands beside the file while it is open.
    fn beside(&self, suffix: &str) -> PathBuf {
        self.directory.join(format!("simba.db{suffix}"))
    }

    async fn driver(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.file());
        options.busy_timeout(Duration::from_secs(10)).connect().await.unwrap()
    }

    async fn execute(&self, statement: String) {
        let mut driver = self.driver().await;
        driver.execute(AssertSqlSafe(statement)).await.unwrap();
        driver.close().await.unwrap();
    }

    /// Holds the file's one write lock.
    async fn hold(&self) -> Fault {
        let mut driver = self.driver().await;
        driver.execute("begin immediate").await.unwrap();
        Fault::new(async move {
            driver.execute("rollback").await.unwrap();
            driver.close().await.unwrap();
        })
    }

    /// Puts a path that leads nowhere in the place of the file.
    fn hide(&self) -> Fault {
        let (file, hidden) = (self.file(), self.beside(".hidden"));
        fs::rename(&file, &hidden).unwrap();
        std::os::unix::fs::symlink(self.directory.join("no/where"), &file).unwrap();
        Fault::new(async move { fs::rename(hidden, file).unwrap() })
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // What is left behind is in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A client of the file, in whichever process.
pub(crate) async fn connect(url: &str) -> Arc<dyn LeaseBackend> {
    let backend = SqliteBackend::builder(url).purge_interval(PURGE_INTERVAL).connect().await;
    Arc::new(backend.expect("the file opens"))
}

async fn misuse(situation: &'static str, path: &Path, kind: ErrorKind, remedy: &'static str) -> Misuse {
    let error: BackendError = SqliteBackend::builder(path).connect().await.unwrap_err();
    Misuse { situation, error, kind, remedy, secret: None }
}

#[async_trait]
impl Fixture for Sqlite {
    fn clock() -> Clock {
        Clock::Real
    }

    async fn fresh() -> Self {
        Self::new()
    }

    async fn connect(&self) -> Arc<dyn LeaseBackend> {
        connect(&self.url()).await
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn lacks(&self, power: Power) -> &'static str {
        match power {
            Power::HoldLease => "a file has one lock for all its names",
            Power::LoseHints => "hints are read from the file, which has nothing to lose on the way",
            Power::CountCalls => "a library is called, and nobody stands between it and the backend",
            Power::SkewedClock => "the clock is the host's, which all its processes share",
            Power::Restart
            | Power::HoldSession
            | Power::Corrupt
            | Power::HalfClose
            | Power::Outage
            | Power::Purge
            | Power::Census
            | Power::Misuse
            | Power::Rival => panic!("a file has {power:?}"),
        }
    }

    /// A crash leaves the file and its log as they are; their copies are what the next process finds.
    async fn restart(&self) -> Result<(), Lack> {
        for suffix in ["-wal", ""] {
            let (file, copy) = (self.beside(suffix), self.beside(".copy"));
            if file.exists() {
                fs::copy(&file, &copy).unwrap();
                fs::rename(&copy, &file).unwrap();
            }
        }
        // Only an index into the log, which the next process makes anew.
        let _ = fs::remove_file(self.beside("-shm"));
        Ok(())
    }

    async fn hold_session(&self, _session: &SessionId) -> Result<Fault, Lack> {
        Ok(self.hold().await)
    }

    async fn corrupt(&self, name: &LeaseName) -> Result<(), Lack> {
        self.execute(format!("update simba_lease set token = -7 where name = '{name}'")).await;
        Ok(())
    }

    async fn half_close(&self, session: &SessionId) -> Result<(), Lack> {
        self.execute(format!("delete from simba_session where session_id = '{session}'")).await;
        Ok(())
    }

    async fn outage(&self, outage: Outage) -> Result<Fault, Lack> {
        let reason = match outage {
            Outage::Refused => return Ok(self.hide()),
            Outage::Locked => return Ok(self.hold().await),
            Outage::BlackHole => "a file answers or fails",
            Outage::ReadOnly => "a test that runs as root may write whatever it wants",
            Outage::Part => "a file has no parts",
        };
        Err(Lack::new(Power::Outage, format!("{outage:?}: {reason}")))
    }

    fn purge_interval(&self) -> Result<Duration, Lack> {
        Ok(PURGE_INTERVAL)
    }

    async fn census(&self) -> Result<Census, Lack> {
        let mut driver = self.driver().await;
        let counts: (i64, i64, i64) = sqlx::query_as(
            "select (select count(*) from simba_session), (select count(*) from simba_member),
                (select count(*) from simba_lease)",
        )
        .fetch_one(&mut driver)
        .await
        .unwrap();
        driver.close().await.unwrap();
        let [sessions, memberships, tokens] =
            [counts.0, counts.1, counts.2].map(|n| usize::try_from(n).unwrap());
        Ok(Census { sessions, memberships, tokens })
    }

    async fn misuses(&self) -> Result<Vec<Misuse>, Lack> {
        let (text, foreign) = (self.directory.join("notes.txt"), self.directory.join("foreign.db"));
        fs::write(&text, "not a database, and long enough to be looked at ".repeat(100)).unwrap();
        let options = SqliteConnectOptions::new().filename(&foreign).create_if_missing(true);
        let mut driver = options.connect().await.unwrap();
        driver.execute("create table simba_session (id integer)").await.unwrap();
        driver.close().await.unwrap();
        Ok(vec![
            misuse("a text file", &text, ErrorKind::Schema, "name another file").await,
            misuse("tables of others", &foreign, ErrorKind::Schema, "sql/init-simba-sqlite.sql").await,
            misuse("a directory", &self.directory, ErrorKind::Config, "name a file in it").await,
            misuse("nowhere", &self.directory.join("no/where.db"), ErrorKind::Config, "create it").await,
        ])
    }

    async fn rival(&self, names: &[LeaseName], contest: Contest) -> Result<Box<dyn Rival>, Lack> {
        if contest == Contest::Free {
            let reason =
                "a process that is stopped while it writes blocks the file, as the backend's page says";
            return Err(Lack::new(Power::Rival, reason));
        }
        let mut child = Child::start(&self.url()).await;
        let session = child.open(Duration::from_secs(3600)).await;
        child.contend(&session, names).await;
        Ok(Box::new(child))
    }
}
