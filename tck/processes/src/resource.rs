//! The file with what the leases protect: on this host, wherever the leases are kept.

use std::{path::Path, time::Duration};

use sqlx::{
    AssertSqlSafe, Connection, Executor, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteSynchronous},
};

/// Its name in the directory of a test.
pub const RESOURCE: &str = "resource.db";

/// SQLite is not fair to those who wait for the file.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn open(directory: &Path, tables: &str) -> sqlx::Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(directory.join(RESOURCE)).create_if_missing(true);
    // Processes are killed, the machine is not: nobody need wait for the disk.
    let options = options.synchronous(SqliteSynchronous::Off).busy_timeout(PATIENCE);
    let mut driver = SqliteConnection::connect_with(&options).await?;
    driver.execute(AssertSqlSafe(format!("begin immediate; {tables}; commit"))).await?;
    Ok(driver)
}
