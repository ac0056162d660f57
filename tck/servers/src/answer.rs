//! Statements for whichever server has the URL.

use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};

use crate::{redis, zookeeper};

/// Whether a server answers a new connection.
pub(crate) async fn answers(url: &str) -> bool {
    if url.starts_with("redis:") {
        return redis::command(url, &["PING"], redis::BOUND).await.is_ok();
    }
    if url.starts_with("zookeeper:") {
        return zookeeper::serves(url).await;
    }
    execute(url, &["select 1"]).await.is_ok()
}

/// Runs each of these in turn, in one session.
pub(crate) async fn execute(url: &str, statements: &[&str]) -> Result<(), sqlx::Error> {
    if url.starts_with("mysql:") {
        let mut connection = MySqlConnection::connect(url).await?;
        for statement in statements {
            sqlx::raw_sql(AssertSqlSafe(*statement)).execute(&mut connection).await?;
        }
        connection.close().await
    } else {
        let mut connection = PgConnection::connect(url).await?;
        for statement in statements {
            sqlx::raw_sql(AssertSqlSafe(*statement)).execute(&mut connection).await?;
        }
        connection.close().await
    }
}
