//! A PostgreSQL and a PgBouncer that run already are used, and are left as they are.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::process::Command;

use simba_servers::{PgBouncer, Postgres};
use sqlx::{Connection, PgConnection};

/// It runs twice: here it starts the servers, and in a process that is told of them it uses them.
#[tokio::test]
async fn a_server_that_runs_already_gives_each_test_a_database() {
    let postgres = Postgres::start().await;
    let pgbouncer = PgBouncer::before(&postgres).await;
    if std::env::var_os("SIMBA_TCK_POSTGRES_URL").is_some() {
        return use_them(&postgres, &pgbouncer).await;
    }
    let used = Command::new(std::env::current_exe().unwrap())
        .args(["a_server_that_runs_already_gives_each_test_a_database", "--exact", "--nocapture"])
        .env("SIMBA_TCK_POSTGRES_URL", postgres.admin_url())
        .env("SIMBA_TCK_PGBOUNCER_URL", pgbouncer.admin_url())
        .status();
    assert!(used.unwrap().success());
    let mut admin = PgConnection::connect(postgres.admin_url()).await.unwrap();
    let (count,): (i64,) = sqlx::query_as("select count(*) from pg_database where datname like 'simba%'")
        .fetch_one(&mut admin)
        .await
        .unwrap();
    assert_eq!(count, 2, "one for each start");
}

async fn use_them(postgres: &Postgres, pgbouncer: &PgBouncer) {
    let other = Postgres::start().await;
    assert_ne!(other.url(), postgres.url());
    assert_ne!(pgbouncer.address(), postgres.address());
    for url in [postgres.url(), postgres.admin_url(), pgbouncer.url(), pgbouncer.admin_url()] {
        let mut session = PgConnection::connect(url).await.unwrap();
        sqlx::raw_sql("create table t (n bigint); drop table t").execute(&mut session).await.unwrap();
    }
    let why = "the server was there before the test and is there after it";
    assert_eq!(postgres.kill().await, Err(why));
    assert_eq!(postgres.read_only().await, Err(why));
    assert_eq!(pgbouncer.stop(), Err(why));
    assert_eq!(postgres.pid(), None);
}
