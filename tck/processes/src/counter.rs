//! A resource that is read, changed and written back in steps, so that only a lock keeps it right.

use std::{path::Path, time::Duration};

use sqlx::{AssertSqlSafe, Executor, SqliteConnection};

use crate::{Verdict, now, resource};

const TABLES: &str = "create table if not exists counter (
        id integer primary key, value integer not null, token integer not null);
    insert or ignore into counter values (1, 0, 0);
    create table if not exists increments (value integer not null, token integer not null, at integer not null)";

/// One connection to the counter.
#[derive(Debug)]
pub struct Counter(SqliteConnection);

/// What became of the counter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// The counter.
    pub value: i64,
    /// The value that each accepted write left, in order.
    pub increments: Vec<i64>,
    /// When each of them was written, by the clock of all processes.
    pub times: Vec<Duration>,
}

impl Counter {
    /// Opens the counter in a directory, and makes it if it is missing.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub async fn open(directory: &Path) -> sqlx::Result<Self> {
        resource::open(directory, TABLES).await.map(Self)
    }

    /// Reads the counter and shows it the token; `None` if it has seen a higher one.
    ///
    /// The token is shown before anything is read: a holder of an earlier term, which may still be on its
    /// way, is refused from here on. Shown only with the write, it would come too late.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub async fn read(&mut self, token: u64) -> sqlx::Result<Option<i64>> {
        let show = format!("update counter set token = {token} where token <= {token} returning value");
        sqlx::query_scalar(AssertSqlSafe(show)).fetch_optional(&mut self.0).await
    }

    /// Writes the counter back; check, write and its record are one transaction, in one message.
    ///
    /// # Errors
    ///
    /// What SQLite says; nothing was written then.
    pub async fn write(&mut self, token: u64, value: i64) -> sqlx::Result<Verdict> {
        let at = now().as_nanos();
        let message = format!(
            "begin immediate;
            insert into increments select {value}, {token}, {at} from counter where token <= {token};
            update counter set value = {value}, token = {token} where token <= {token};
            commit"
        );
        self.0.execute(AssertSqlSafe(message)).await?;
        let changed: i64 = sqlx::query_scalar("select changes()").fetch_one(&mut self.0).await?;
        Ok(if changed == 1 { Verdict::Accepted } else { Verdict::Refused })
    }

    /// Reads the counter and all its increments.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub async fn tally(&mut self) -> sqlx::Result<Tally> {
        let value = sqlx::query_scalar("select value from counter").fetch_one(&mut self.0).await?;
        let increments = sqlx::query_as("select value, at from increments order by rowid");
        let increments: Vec<(i64, i64)> = increments.fetch_all(&mut self.0).await?;
        let (increments, times) = increments
            .into_iter()
            .map(|(value, at)| (value, Duration::from_nanos(at.cast_unsigned())))
            .unzip();
        Ok(Tally { value, increments, times })
    }
}
