//! The application's own pool.

use std::{sync::Arc, time::Duration};

use simba_backends::{ErrorKind, LeaseBackend, Outcome, postgres::PostgresBackend};
use simba_tck::Fixture;
use sqlx::postgres::PgPoolOptions;
use tokio::time::sleep;

use crate::{
    fixture::{Direct, Server},
    peer::{Peer, eventually, name},
};

const LEASE: Duration = Duration::from_secs(1);

/// Both of its connections sleep for 10 leases.
#[tokio::test]
async fn sessions_outlive_a_pool_that_the_application_starves() {
    let server = Server::<Direct>::fresh().await;
    let pool = PgPoolOptions::new().max_connections(2).connect(&server.url()).await.unwrap();
    let theirs =
        PostgresBackend::builder_with_pool(pool.clone()).call_timeout(LEASE).connect().await.unwrap();
    let theirs = Peer::open(Arc::new(theirs), LEASE).await;
    let ours = Peer::open(server.connect().await, LEASE).await;
    let (a, b) = (name("a"), name("b"));
    let (of_theirs, of_ours) = (theirs.granted(&a).await, ours.granted(&b).await);
    let mut sleepers = Vec::new();
    for _ in 0..2 {
        let pool = pool.clone();
        sleepers.push(tokio::spawn(async move {
            sqlx::query("select pg_sleep(10)").execute(&pool).await.unwrap()
        }));
    }
    eventually("the pool is starved", async || pool.num_idle() == 0 && pool.size() == 2).await;

    let mut starved = 0;
    while !sleepers.iter().all(tokio::task::JoinHandle::is_finished) {
        assert_eq!(theirs.owned().await, Some(vec![(a.clone(), of_theirs)]));
        assert_eq!(ours.owned().await, Some(vec![(b.clone(), of_ours)]));
        if starved == 0 {
            let call = theirs.backend.clone();
            let session = theirs.session.clone();
            let acquiring = tokio::spawn(async move { call.acquire(&session, &[name("c")]).await });
            while !acquiring.is_finished() {
                assert!(theirs.owned().await.is_some() && ours.owned().await.is_some());
                sleep(LEASE / 8).await;
            }
            let error = acquiring.await.unwrap().unwrap_err();
            assert_eq!(
                (error.kind(), error.outcome()),
                (ErrorKind::Timeout, Outcome::NotApplied),
                "{error:?}"
            );
            assert!(error.to_string().contains("in use"), "{error}");
            starved += 1;
        }
        sleep(LEASE / 8).await;
    }
    assert_eq!(starved, 1);
    theirs.granted(&name("c")).await;
    drop(theirs);
    assert!(!pool.is_closed(), "who made a pool closes it");
    pool.close().await;
}

/// A statement of the application's that failed is none of ours, and the other way round.
#[tokio::test]
async fn what_fails_on_the_applications_pool_leaves_it_usable() {
    let server = Server::<Direct>::fresh().await;
    let pool = PgPoolOptions::new().max_connections(1).connect(&server.url()).await.unwrap();
    let backend = PostgresBackend::builder_with_pool(pool.clone()).connect().await.unwrap();
    let backend: Arc<dyn LeaseBackend> = Arc::new(backend);
    let mine = Peer::open(backend, Duration::from_secs(60)).await;
    let mut operator = server.operator().await;
    operator.run("alter table simba_lease rename to elsewhere").await;
    let error = mine.backend.acquire(&mine.session, &[name("n")]).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Schema, Outcome::NotApplied));
    assert!(error.to_string().contains("sql/init-simba-postgresql.sql"), "{error}");
    sqlx::query("select 1").execute(&pool).await.unwrap();
    operator.run("alter table elsewhere rename to simba_lease").await;
    mine.granted(&name("n")).await;
}

/// Nobody said `commit`, and the connection was given back all the same.
#[tokio::test]
async fn a_transaction_that_the_application_left_open_is_rolled_back() {
    let server = Server::<Direct>::fresh().await;
    let pool = PgPoolOptions::new().max_connections(1).connect(&server.url()).await.unwrap();
    let backend = PostgresBackend::builder_with_pool(pool.clone()).connect().await.unwrap();
    let mine = Peer::open(Arc::new(backend), Duration::from_secs(60)).await;
    let run = async |statements| sqlx::raw_sql(statements).execute(&pool).await.unwrap();
    run("create table theirs (a int)").await;
    for left_open in [
        "begin; insert into theirs values (1)",
        "begin isolation level repeatable read; insert into theirs values (1)",
    ] {
        run(left_open).await;
        // Unless the notice of what was freed before has met it first.
        if let Err(error) = mine.backend.acquire(&mine.session, &[name("n")]).await {
            assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
            mine.granted(&name("n")).await;
        }
        for (name, token) in mine.owned().await.unwrap() {
            mine.release(&name, token).await;
        }
    }
    let count = sqlx::query_scalar::<_, i64>("select count(*) from theirs").fetch_one(&pool).await;
    assert_eq!(count.unwrap(), 0, "what nobody committed is there");
}
