//! The file with what the leases protect: on this host, wherever the leases are kept.

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, Executor, SqliteConnection, sqlite::SqliteConnectOptions};

/// Its name in the directory of a test.
pub const RESOURCE: &str = "resource.db";

pub(crate) async fn open(directory: &Path, tables: &str) -> sqlx::Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(directory.join(RESOURCE)).create_if_missing(true);
    let mut driver = SqliteConnection::connect_with(&options).await?;
    driver.execute(AssertSqlSafe(format!("begin immediate; {tables}; commit"))).await?;
    Ok(driver)
}
