//! All servers go, and come back.

use std::time::Duration;

use simba_backends::KeepAlive;
use simba_servers::ZooKeeperEnsemble;
use tokio::time::sleep;

use crate::{
    kit::{granted, open, owned},
    peer::{eventually, name},
};

async fn kill_all(ensemble: &ZooKeeperEnsemble) {
    for node in ensemble.nodes() {
        node.kill().await.unwrap();
    }
}

#[tokio::test]
async fn sessions_outlive_a_short_restart_of_all_servers_and_no_longer_one() {
    let ensemble = ZooKeeperEnsemble::start().await;
    let (lease, n) = (Duration::from_secs(10), name("n"));
    let mine = open(ensemble.url(), lease).await;
    let first = granted(&mine, &n).await;
    kill_all(&ensemble).await;
    ensemble.start_again().await;
    assert_eq!(owned(&mine).await, [(n.clone(), first)]);
    let brief = open(ensemble.url(), Duration::from_secs(1)).await;
    let m = name("m");
    let of_brief = granted(&brief, &m).await;
    kill_all(&ensemble).await;
    sleep(Duration::from_millis(1100)).await;
    ensemble.start_again().await;
    assert_eq!(owned(&mine).await, [(n.clone(), first)], "its session had not ended");
    // The servers give it another time-out when they start, which is not its own.
    eventually("it has expired", async || {
        let answer = brief.backend.keep_alive(&brief.session, brief.lease).await;
        assert!(!matches!(answer, Ok(KeepAlive::Live { .. })), "{answer:?}");
        matches!(answer, Ok(KeepAlive::Expired))
    })
    .await;
    eventually("what it held is free", async || mine.holder(&m).await.is_none()).await;
    assert!(granted(&mine, &m).await > of_brief.max(first), "tokens rise");
}
