//! The journal mode and the tables of a file that was just opened.

use std::time::Duration;

use sqlx::{Row, SqliteConnection};

use super::{
    database::Database,
    error,
    message::{self, Message},
};
use crate::{BackendError, ErrorKind, Outcome};

const SCRIPT: &str = include_str!("../../sql/init-simba-sqlite.sql");

const TABLES: &str = "select count(*) from sqlite_schema
    where type = 'table' and name in ('simba_session', 'simba_lease', 'simba_member')";

/// Fails to be prepared where a column is missing.
const PROBE: &str = "
    select session_id, expires_at, metadata from simba_session limit 0;
    select name, session_id, token from simba_lease limit 0;
    select group_name, session_id from simba_member limit 0";

/// How long to wait after the journal mode could not be set, which SQLite itself does not wait for.
const JOURNAL_PAUSE: Duration = Duration::from_millis(20);

pub(super) async fn prepare(database: &Database, driver: &mut SqliteConnection) -> Result<(), BackendError> {
    use_wal(database, driver).await?;
    let found: i64 = first(database, driver, TABLES).await?;
    if found < 3 {
        let script = format!("begin immediate; {SCRIPT}; commit");
        let script = sqlx::raw_sql(sqlx::AssertSqlSafe(script));
        script.execute(&mut *driver).await.map_err(|error| error::of(database, error))?;
    }
    message::exchange(driver, &Message::new(PROBE)).await.map_err(|error| error::of(database, error))?;
    Ok(())
}

/// A file keeps its journal mode, so this writes once in its life. Several processes that open a new file
/// at once refuse each other without any wait.
async fn use_wal(database: &Database, driver: &mut SqliteConnection) -> Result<(), BackendError> {
    let mode: String = first(database, driver, "pragma journal_mode").await?;
    if mode == "wal" {
        return Ok(());
    }
    match first::<String>(database, driver, "pragma journal_mode = wal").await {
        Ok(mode) if mode == "wal" => Ok(()),
        Ok(mode) => Err(no_wal(database, &mode)),
        Err(error) => {
            tokio::time::sleep(JOURNAL_PAUSE).await;
            Err(error)
        }
    }
}

fn no_wal(database: &Database, mode: &str) -> BackendError {
    let path = database.path().display();
    BackendError::new(
        ErrorKind::Unsupported,
        Outcome::NotApplied,
        format!("{path} stays in journal mode {mode:?}: put the file on a local file system that allows WAL"),
    )
}

async fn first<T>(
    database: &Database,
    driver: &mut SqliteConnection,
    sql: &'static str,
) -> Result<T, BackendError>
where
    T: for<'r> sqlx::Decode<'r, sqlx::Sqlite> + sqlx::Type<sqlx::Sqlite>,
{
    let row = sqlx::query(sql).fetch_one(driver).await;
    row.and_then(|row| row.try_get(0)).map_err(|error| error::of(database, error))
}
