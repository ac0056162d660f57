//! Calls that are dropped before they are answered.

use std::time::Duration;

use simba_servers::ZooKeeper;

use crate::{
    kit::{nodes, number, open},
    peer::{Peer, all_can_be_had, drop_calls_at_random, eventually, names},
};

/// How many messages of the session the server has had.
async fn sent(server: &ZooKeeper, peer: &Peer) -> u64 {
    server.connected().await[&number(peer)]
}

#[tokio::test]
async fn calls_dropped_at_random_leave_nothing_that_a_keep_alive_does_not_tell_of() {
    let server = ZooKeeper::start().await;
    let mine = open(server.url(), Duration::from_secs(10)).await;
    let all = names("n", 200);
    drop_calls_at_random(&mine, &all).await;
    eventually("all calls have ended", async || {
        let before = sent(&server, &mine).await;
        let owned = mine.owned().await.unwrap();
        let told: Vec<_> = owned.into_iter().map(|(name, _)| name).collect();
        // Those of the keep-alive itself.
        sent(&server, &mine).await <= before + 3 && told == nodes(&server, &mine).await
    })
    .await;
    all_can_be_had(&mine, &all).await;
    mine.backend.close_session(&mine.session).await.unwrap();
    eventually("nothing is left", async || server.ephemerals().await.is_empty()).await;
}
