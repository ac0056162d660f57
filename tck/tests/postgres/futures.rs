//! Calls that are dropped before they are answered.

use std::{future::Future, pin::pin, time::Duration};

use simba_backends::{LeaseBackend, postgres::PostgresBackend};
use simba_tck::Fixture;
use tokio::time::{sleep, timeout};

use crate::{
    fixture::{Direct, Operator, Server},
    peer::{BOUND, LONG, Peer, eventually, names},
};

async fn abandon(call: impl Future, polls: u32, after: Duration) {
    let mut call = pin!(call);
    for _ in 0..polls {
        let polled = futures_util::poll!(call.as_mut());
        if polled.is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
    // Dropped at whichever await it is by then.
    let _ = timeout(after, call).await;
}

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
    let backend: std::sync::Arc<dyn LeaseBackend> = std::sync::Arc::new(builder.connect().await.unwrap());
    let mine = Peer::open(backend.clone(), LONG).await;
    let all = names("n", 200);
    let group = "g".parse().unwrap();
    for round in 0..300_u32 {
        let (polls, after) = (round % 7, Duration::from_micros(u64::from(round * 7919 % 6007)));
        let batch = &all[..1 + (round as usize * 31) % 200];
        match round % 5 {
            0 => abandon(backend.acquire(&mine.session, batch), polls, after).await,
            1 => abandon(backend.keep_alive(&mine.session, LONG), polls, after).await,
            2 => abandon(backend.join(&mine.session, &group), polls, after).await,
            3 => abandon(backend.members(&group), polls, after).await,
            _ => {
                let owned = timeout(BOUND, mine.owned()).await.expect("the next call is answered");
                let owned = owned.expect("the session lives");
                abandon(backend.release(&mine.session, &owned), polls, after).await;
            }
        }
    }
    let mut operator = server.operator().await;
    eventually("nothing is left behind", async || left_behind(&mut operator).await == 0).await;
    sleep(Duration::from_millis(100)).await;
    assert_eq!(left_behind(&mut operator).await, 0);
    let owned = mine.owned().await.unwrap();
    mine.backend.release(&mine.session, &owned).await.unwrap();
    assert_eq!(mine.owned().await.unwrap(), []);
    mine.acquire_all(&all).await;
    assert_eq!(mine.owned().await.unwrap().len(), 200);
}
