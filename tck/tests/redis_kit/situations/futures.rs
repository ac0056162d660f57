//! Calls that are dropped before they are answered.

use std::{future::Future, pin::pin, time::Duration};

use simba_tck::Fixture;
use tokio::time::timeout;

use crate::{
    Storage,
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

/// One thread of Simba's is followed by another, say.
#[test]
fn a_runtime_that_has_ended_takes_no_call_of_the_next_one_along() {
    // What stands before the server goes on meanwhile.
    let first = tokio::runtime::Runtime::new().expect("it is built");
    let server = first.block_on(Storage::fresh());
    let backend = first.block_on(server.connect());
    for _ in 0..3 {
        let next = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it is built");
        next.block_on(async {
            let mine = Peer::open(backend.clone(), LONG).await;
            mine.acquire_all(&names("n", 20)).await;
            mine.backend.close_session(&mine.session).await.expect("the close is answered");
        });
    }
}

#[tokio::test]
async fn calls_dropped_at_random_leave_nothing_stuck_and_no_connection_behind() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let (backend, all, group) = (mine.backend.clone(), names("n", 200), "g".parse().unwrap());
    let mut operators = server.operators().await;
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
    eventually("what was asked for is done, and connections are as few as ever", async || {
        let mut most = 0;
        for operator in &mut operators {
            let clients: String = operator.ask("CLIENT LIST").await;
            most = most.max(clients.lines().filter(|line| line.contains(" user=app ")).count());
        }
        // Keep-alives, replicated calls, the others, and questions about a cluster.
        most <= 4
    })
    .await;
    let owned = mine.owned().await.unwrap();
    mine.backend.release(&mine.session, &owned).await.unwrap();
    assert_eq!(mine.owned().await.unwrap(), []);
    mine.acquire_all(&all).await;
    assert_eq!(mine.owned().await.unwrap().len(), 200);
}
