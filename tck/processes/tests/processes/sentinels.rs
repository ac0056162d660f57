//! A primary under sentinels is killed, stands still, or has lost its replicas.

use simba_processes::now;
use tokio::time::sleep;

use crate::{
    scene::{ELECTION, LEASE, RENEW, Scene, within},
    storage::{Storage, on},
};

on!([redis_sentinel] [
    a_primary_is_killed_under_five_processes,
    a_primary_that_stands_still_is_believed_by_nobody_when_it_goes_on,
    grants_that_reach_no_replica_do_not_count,
]);

async fn a_primary_is_killed_under_five_processes(storage: Storage) {
    let sentinels = storage.sentinels();
    let mut scene = Scene::of(5, &storage.url()).await;
    scene.counts().await;
    let first = scene.settled().await;
    let primary = sentinels.current_primary().await;
    primary.kill().await.unwrap();
    let killed = now();
    sentinels.wait_for_failover_of(&primary).await;
    let replaced = now();
    println!("SIGKILL of the primary -> replaced: {} ms", (replaced - killed).as_millis());

    let next = scene.leads(replaced).await;
    within(ELECTION, next.at - replaced, "primary replaced -> valid");
    assert!(next.token >= first.token, "a token went back: {first:?}, {next:?}");
    scene.counts().await;
    let paused = scene.longest_pause(killed).await;
    println!("{first:?}, {next:?}; the lock moved on, at the longest after {} ms", paused.as_millis());

    // One more term, which only the new primary gives; the old one is there again.
    primary.start_again().await.unwrap();
    let gone = now();
    scene.crew.kill(next.pid).await;
    let last = scene.leads_above(next.token, gone).await;
    within(ELECTION, last.at - gone, "leader killed after that -> another is valid");
    scene.close().await;
}

/// One process knows nothing of sentinels, and stays with the old primary.
async fn a_primary_that_stands_still_is_believed_by_nobody_when_it_goes_on(storage: Storage) {
    let sentinels = storage.sentinels();
    let old = sentinels.primary();
    let mut scene = Scene::of(1, &format!("{}?wait_replicas=1", old.url())).await;
    let stuck = scene.crew.pids()[0];
    for _ in 0..4 {
        scene.join(&storage.url()).await;
    }
    let first = scene.settled().await;
    assert_eq!(first.pid, stuck);

    old.stop().unwrap();
    let stopped = now();
    let revoked = scene.crew.hears(stuck, &format!("revoked {}", first.token)).await;
    within(LEASE, revoked.at - stopped, "SIGSTOP of the primary -> revoked");
    sentinels.wait_for_failover_of(old).await;
    let replaced = now();
    println!("SIGSTOP of the primary -> replaced: {} ms", (replaced - stopped).as_millis());
    let next = scene.leads_above(first.token, stopped).await;
    within(ELECTION, next.at.saturating_sub(replaced), "primary replaced -> another is valid");
    assert_ne!(next.pid, stuck);

    // For a while it takes itself for the primary still, and whoever asks it is answered.
    old.resume().unwrap();
    scene.counts().await;
    sleep(LEASE * 2).await;
    assert_eq!(scene.leads(now()).await.token, next.token, "all is as before");
    scene.crew.kill(stuck).await;
    scene.close().await;
}

async fn grants_that_reach_no_replica_do_not_count(storage: Storage) {
    let primary = storage.sentinels().primary();
    let mut scene = Scene::of(3, &storage.url()).await;
    let first = scene.settled().await;
    primary.refuse_replicas().await.unwrap();
    let cut = now();
    let revoked = scene.crew.hears(first.pid, &format!("revoked {}", first.token)).await;
    within(LEASE, revoked.at - cut, "replicas cut off -> revoked");
    sleep(LEASE * 2).await;
    let won = |line: &&crate::crew::Line| line.at > cut && line.text.starts_with("elected");
    assert_eq!(scene.crew.heard().iter().find(won).map(|line| &line.text), None, "it is on one server only");

    primary.accept_replicas().await.unwrap();
    let accepted = now();
    let next = scene.leads_above(first.token, cut).await;
    assert!(next.at > accepted, "{next:?} before {accepted:?}");
    // Replicas try every second.
    within(ELECTION + RENEW, next.at - accepted, "replicas may come back -> valid");
    scene.counts().await;
    scene.close().await;
}
