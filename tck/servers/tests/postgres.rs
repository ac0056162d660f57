//! PostgreSQL does what its verbs say.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::time::Duration;

use simba_servers::{LostReply, Offset, Options, Postgres, Proxy};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::time::timeout;

async fn run(connection: &mut PgConnection, statement: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await.map(|_| ())
}

async fn number(url: &str, statement: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let number = sqlx::query_scalar(AssertSqlSafe(statement)).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    number
}

fn code(error: &sqlx::Error) -> String {
    let error = error.as_database_error().unwrap_or_else(|| panic!("the server did not say: {error}"));
    error.code().unwrap().into_owned()
}

#[tokio::test]
async fn what_was_committed_survives_a_kill() {
    let postgres = Postgres::start().await;
    let mut app = PgConnection::connect(postgres.url()).await.unwrap();
    run(&mut app, "create table t (n bigint); insert into t values (7)").await.unwrap();
    postgres.kill().await.unwrap();
    assert!(postgres.pid().is_none());
    assert!(run(&mut app, "select 1").await.is_err(), "the session ended with the server");
    assert!(PgConnection::connect(postgres.url()).await.is_err(), "nobody listens");
    postgres.start_again().await.unwrap();
    assert_eq!(number(postgres.url(), "select n from t").await, 7);
}

/// A busy backend is not in the process group of the server, and would go on.
#[tokio::test]
async fn stopped_it_is_silent_in_the_middle_of_work() {
    let postgres = Postgres::start().await;
    let mut app = PgConnection::connect(postgres.url()).await.unwrap();
    run(&mut app, "select 1").await.unwrap();
    postgres.stop().unwrap();
    {
        let mut asked = Box::pin(run(&mut app, "select 2"));
        assert!(timeout(Duration::from_millis(300), &mut asked).await.is_err());
        let new = timeout(Duration::from_millis(300), PgConnection::connect(postgres.url())).await;
        assert!(new.is_err(), "new sessions wait too");
        postgres.resume().unwrap();
        asked.await.unwrap();
    }
    run(&mut app, "select 3").await.unwrap();
}

#[tokio::test]
async fn read_only_it_refuses_writes_of_old_and_new_sessions() {
    let postgres = Postgres::start().await;
    let mut old = PgConnection::connect(postgres.url()).await.unwrap();
    run(&mut old, "create table t (n bigint)").await.unwrap();
    postgres.read_only().await.unwrap();
    assert_eq!(code(&run(&mut old, "insert into t values (1)").await.unwrap_err()), "25006");
    let mut new = PgConnection::connect(postgres.url()).await.unwrap();
    assert_eq!(code(&run(&mut new, "insert into t values (2)").await.unwrap_err()), "25006");
    postgres.read_write().await.unwrap();
    run(&mut old, "insert into t values (3)").await.unwrap();
    assert_eq!(number(postgres.url(), "select count(*) from t").await, 1);
}

#[tokio::test]
async fn its_clock_steps_and_comes_back() {
    const NOW: &str = "select extract(epoch from now())::bigint";
    let postgres = Postgres::start().await;
    let before = number(postgres.url(), NOW).await;
    let off = |now: i64| (now - before) / 60;
    postgres.step_clock(Offset::Ahead(Duration::from_secs(3600))).unwrap();
    assert_eq!(off(number(postgres.url(), NOW).await), 60);
    postgres.step_clock(Offset::Behind(Duration::from_secs(3600))).unwrap();
    assert_eq!(off(number(postgres.url(), NOW).await + 30), -59);
    postgres.step_clock(Offset::None).unwrap();
    assert_eq!(off(number(postgres.url(), NOW).await), 0);
}

#[tokio::test]
async fn a_standby_has_what_was_committed_and_takes_over() {
    let primary = Postgres::start().await;
    let standby = primary.standby().await.unwrap();
    let mut app = PgConnection::connect(primary.url()).await.unwrap();
    run(&mut app, "create table t (n bigint)").await.unwrap();
    run(&mut app, "insert into t values (7)").await.unwrap();
    let mut other = PgConnection::connect(standby.url()).await.unwrap();
    assert_eq!(code(&run(&mut other, "insert into t values (8)").await.unwrap_err()), "25006");
    primary.kill().await.unwrap();
    standby.promote().await.unwrap();
    assert_eq!(number(standby.url(), "select n from t").await, 7);
    run(&mut other, "insert into t values (8)").await.unwrap();
}

#[tokio::test]
async fn a_commit_waits_for_a_standby_that_is_stopped() {
    let primary = Postgres::start().await;
    let standby = primary.standby().await.unwrap();
    let mut app = PgConnection::connect(primary.url()).await.unwrap();
    standby.stop().unwrap();
    let mut commit = Box::pin(run(&mut app, "create table t (n bigint)"));
    assert!(timeout(Duration::from_millis(300), &mut commit).await.is_err());
    standby.resume().unwrap();
    commit.await.unwrap();
}

#[tokio::test]
async fn settings_are_taken_and_the_user_is_no_administrator() {
    let options = Options::new().set("default_transaction_isolation", "serializable").durable();
    let postgres = Postgres::with(options).await;
    const SET: &str = "select count(*) from pg_settings where (name, setting) in
        (('default_transaction_isolation', 'serializable'), ('fsync', 'on'))";
    assert_eq!(number(postgres.url(), SET).await, 2);
    let mut app = PgConnection::connect(postgres.url()).await.unwrap();
    assert_eq!(code(&run(&mut app, "create role other").await.unwrap_err()), "42501");
    let wrong = postgres.url().replace(simba_servers::APP_PASSWORD, "guess");
    assert_eq!(code(&PgConnection::connect(&wrong).await.unwrap_err()), "28P01");
}

#[tokio::test]
async fn through_a_proxy_a_commit_whose_reply_is_lost_has_happened() {
    let postgres = Postgres::start().await;
    let proxy = Proxy::before(postgres.address()).await;
    let mut app = PgConnection::connect(&proxy.url(postgres.url())).await.unwrap();
    run(&mut app, "create table t (n bigint)").await.unwrap();
    let before = proxy.round_trips();
    run(&mut app, "begin").await.unwrap();
    run(&mut app, "insert into t values (7)").await.unwrap();
    assert_eq!(proxy.round_trips() - before, 2);
    proxy.lose_replies(LostReply::Reset).await;
    assert!(run(&mut app, "commit").await.is_err());
    assert_eq!(number(postgres.url(), "select n from t").await, 7);
}
