//! A directory of its own for each test.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use simba_actors::SessionId;
use sqlx::{Connection, Executor, SqliteConnection, sqlite::SqliteConnectOptions};

/// Deleted at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        let directory = std::env::temp_dir().join(format!("simba-processes-{}", SessionId::random()));
        fs::create_dir(&directory).unwrap();
        Self(directory)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.0
    }

    /// The URL of a file in it.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("sqlite://{}", self.path(name).display())
    }

    /// The logs of all workers of this test.
    pub(crate) fn logs(&self) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&self.0)?.map(|entry| entry.map(|entry| entry.path()));
        let paths: Vec<PathBuf> = entries.collect::<io::Result<_>>()?;
        Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "log")).collect())
    }

    /// A plain connection to a file in it, which is made if it is missing.
    pub(crate) async fn driver(&self, name: &str) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.path(name)).create_if_missing(true);
        SqliteConnection::connect_with(&options).await.unwrap()
    }

    /// Holds the file's write lock until the answer is told to [`let_go`].
    pub(crate) async fn hold(&self, name: &str) -> SqliteConnection {
        let mut driver = self.driver(name).await;
        driver.execute("begin immediate").await.unwrap();
        driver
    }
}

/// Frees the lock that [`Scratch::hold`] took.
pub(crate) async fn let_go(mut driver: SqliteConnection) {
    driver.execute("rollback").await.unwrap();
    driver.close().await.unwrap();
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("what the test left is in {}", self.0.display());
            return;
        }
        // What is left behind is in the directory for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
