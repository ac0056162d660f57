//! Calls that are dropped before they are answered.

use std::{sync::Arc, time::Duration};

use simba_backends::postgres::PostgresBackend;
use simba_tck::Fixture;
use tokio::time::sleep;

use crate::{
    fixture::{Direct, Operator, Server},
    peer::{LONG, Peer, all_can_be_had, drop_calls_at_random, eventually, names},
};

async fn left_behind(operator: &mut Operator) -> i64 {
    operator
        .number(
            "select (select count(*) from pg_stat_activity where usename = 'app' and state <> 'idle')
            + (select count(*) from pg_locks l join pg_stat_activity a using (pid) where a.usename = 'app')",
        )
        .await
}

#[tokio::test]
async fn calls_dropped_at_random_leave_no_transaction_and_no_lock() {
    let server = Server::<Direct>::fresh().await;
    let builder = PostgresBackend::builder(&server.proxied_url()).unwrap().max_connections(1);
    let mine = Peer::open(Arc::new(builder.connect().await.unwrap()), LONG).await;
    let all = names("n", 200);
    drop_calls_at_random(&mine, &all).await;
    let mut operator = server.operator().await;
    eventually("nothing is left behind", async || left_behind(&mut operator).await == 0).await;
    sleep(Duration::from_millis(100)).await;
    assert_eq!(left_behind(&mut operator).await, 0);
    all_can_be_had(&mine, &all).await;
}
