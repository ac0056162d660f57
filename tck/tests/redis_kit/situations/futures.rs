//! Calls that are dropped before they are answered.

use simba_tck::Fixture;

use crate::{
    Storage,
    peer::{LONG, Peer, all_can_be_had, drop_calls_at_random, eventually, names},
};

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
    let all = names("n", 200);
    let mut operators = server.operators().await;
    drop_calls_at_random(&mine, &all).await;
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
    all_can_be_had(&mine, &all).await;
}
