//! PgBouncer does what its verbs say.

use simba_servers::{PgBouncer, Postgres};
use sqlx::{Connection, PgConnection};

#[tokio::test]
async fn it_answers_with_what_the_server_behind_it_has() {
    let postgres = Postgres::start().await;
    let pgbouncer = PgBouncer::before(&postgres).await;
    let mut direct = PgConnection::connect(postgres.url()).await.unwrap();
    sqlx::raw_sql("create table t (n bigint); insert into t values (7)").execute(&mut direct).await.unwrap();
    for round in 0..2 {
        let mut pooled = PgConnection::connect(pgbouncer.url()).await.unwrap();
        sqlx::raw_sql("select n from t").execute(&mut pooled).await.unwrap();
        if round == 0 {
            pgbouncer.kill().await.unwrap();
            assert!(sqlx::raw_sql("select n from t").execute(&mut pooled).await.is_err());
            assert!(PgConnection::connect(pgbouncer.url()).await.is_err());
            pgbouncer.start_again().await.unwrap();
        }
    }
}

#[tokio::test]
async fn sessions_share_a_connection_between_transactions() {
    let postgres = Postgres::start().await;
    let pgbouncer = PgBouncer::before(&postgres).await;
    let mut backends = Vec::new();
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let mut session = PgConnection::connect(pgbouncer.url()).await.unwrap();
        let (backend,): (i32,) = sqlx::query_as("select pg_backend_pid()")
            .persistent(false)
            .fetch_one(&mut session)
            .await
            .unwrap();
        backends.push(backend);
        sessions.push(session);
    }
    backends.dedup();
    assert_eq!(backends.len(), 1, "three sessions that take turns need one");
}
