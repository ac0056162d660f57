//! A resource that checks the token: a row with the highest one it has accepted.

use std::path::Path;

use sqlx::{AssertSqlSafe, Executor, SqliteConnection};

use crate::resource;

const TABLES: &str = "create table if not exists fence (id integer primary key, token integer not null);
    insert or ignore into fence values (1, 0);
    create table if not exists writes (
        seq integer primary key autoincrement, token integer not null, verdict integer not null,
        pid integer not null)";

/// What the fence said to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The token was at least as high as every one before.
    Accepted,
    /// A higher one had been there.
    Refused,
}

/// A write as the fence remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Write {
    /// The token that was shown.
    pub token: u64,
    /// What the fence said.
    pub verdict: Verdict,
    /// Who wrote.
    pub pid: u32,
}

/// One connection to the fence.
#[derive(Debug)]
pub struct Fence(SqliteConnection);

impl Fence {
    /// Opens the fence in a directory, and makes it if it is missing.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub async fn open(directory: &Path) -> sqlx::Result<Self> {
        resource::open(directory, TABLES).await.map(Self)
    }

    /// Writes under a token; check and write are one transaction, in one message.
    ///
    /// # Errors
    ///
    /// What SQLite says; nothing was written then.
    pub async fn write(&mut self, token: u64) -> sqlx::Result<Verdict> {
        let pid = std::process::id();
        let message = format!(
            "begin immediate;
            insert into writes (token, verdict, pid) select {token}, {token} >= token, {pid} from fence;
            update fence set token = {token} where token <= {token};
            commit"
        );
        self.0.execute(AssertSqlSafe(message)).await?;
        let last = "select verdict from writes where seq = last_insert_rowid()";
        Ok(verdict(sqlx::query_scalar(last).fetch_one(&mut self.0).await?))
    }

    /// All writes, in the order in which the file took them.
    ///
    /// # Errors
    ///
    /// What SQLite says.
    pub async fn writes(&mut self) -> sqlx::Result<Vec<Write>> {
        let rows = sqlx::query_as("select token, verdict, pid from writes order by seq");
        let rows: Vec<(i64, i64, u32)> = rows.fetch_all(&mut self.0).await?;
        let write = |(token, said, pid): (i64, i64, u32)| Write {
            token: token.cast_unsigned(),
            verdict: verdict(said),
            pid,
        };
        Ok(rows.into_iter().map(write).collect())
    }
}

fn verdict(said: i64) -> Verdict {
    if said == 1 { Verdict::Accepted } else { Verdict::Refused }
}
