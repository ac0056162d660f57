//! Servers forget what was loaded into them, and cut their clients off, again and again.

use std::time::Duration;

use simba_processes::now;
use tokio::time::sleep;

use crate::{
    scene::{RENEW, Scene},
    storage::{Storage, on},
};

const DISTURBED: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(150);

on!([redis, redis_cluster][scripts_are_forgotten_and_clients_cut_off_and_no_term_is_lost]);

async fn scripts_are_forgotten_and_clients_cut_off_and_no_term_is_lost(storage: Storage) {
    let scene = Scene::of(5, &storage.url()).await;
    let first = scene.settled().await;
    let begun = now();
    let mut rounds = 0;
    while now() < begun + DISTURBED {
        storage.order(&["SCRIPT", "FLUSH"]).await;
        sleep(PAUSE).await;
        storage.order(&["CLIENT", "KILL", "USER", "app"]).await;
        sleep(PAUSE).await;
        rounds += 1;
    }
    let paused = scene.longest_pause(begun).await;
    println!("{rounds} rounds; the lock moved on, at the longest after {} ms", paused.as_millis());
    let last = scene.settled().await;
    assert_eq!(last.token, first.token, "a term was lost");
    assert!(paused < RENEW * 5, "the lock stood still for {paused:?}");
    scene.counts().await;
    scene.close().await;
}
