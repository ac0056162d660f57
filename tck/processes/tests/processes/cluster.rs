//! A cluster's primaries are replaced, and its slots moved, under five processes.

use std::time::Duration;

use simba_processes::now;
use simba_servers::{ClusterNode, RedisCluster};

use crate::{
    scene::{ELECTION, Scene, within},
    storage::{Storage, on},
    testimony::{Leading, Testimony},
};

const MOVING: Duration = Duration::from_secs(4);

const LEADER: &str = "simba:lease:{leader}";
const COUNTER: &str = "simba:lease:{counter}";

on!([redis_cluster] [
    primaries_with_the_lease_and_with_the_session_are_killed,
    primaries_with_the_lease_and_with_the_session_stand_still,
    slots_are_moved_and_no_term_is_lost,
]);

#[derive(Clone, Copy, Debug)]
enum Blow {
    Kill,
    Stop,
}

async fn primaries_with_the_lease_and_with_the_session_are_killed(storage: Storage) {
    both_are_hit(&storage, Blow::Kill).await;
}

async fn primaries_with_the_lease_and_with_the_session_stand_still(storage: Storage) {
    both_are_hit(&storage, Blow::Stop).await;
}

async fn both_are_hit(storage: &Storage, blow: Blow) {
    let mut scene = Scene::of(5, &storage.url()).await;
    let cluster = storage.cluster();
    scene.counts().await;
    scene.settled().await;
    is_hit(cluster, &scene, LEADER, blow).await;
    cluster.wait_until_whole().await;
    let leader = scene.settled().await;
    is_hit(cluster, &scene, &session_key(&scene, leader), blow).await;

    // One more term, which only the new primary gives.
    let (killed, last) = (now(), scene.leads(now()).await);
    scene.crew.kill(last.pid).await;
    let next = scene.leads_above(last.token, killed).await;
    within(ELECTION, next.at - killed, "leader killed after that -> another is valid");
    scene.close().await;
}

/// The primary of that key is hit, replaced, and comes back.
async fn is_hit(cluster: &RedisCluster, scene: &Scene, key: &str, blow: Blow) {
    let primary = cluster.primary_of(key).await;
    let hit = now();
    match blow {
        Blow::Kill => primary.kill().await.unwrap(),
        Blow::Stop => primary.stop().unwrap(),
    }
    cluster.wait_for_failover_of(&primary).await;
    let replaced = now();
    let leading = scene.leads(replaced).await;
    let what = format!(
        "{blow:?} of the primary of {key}, replaced after {} ms -> valid",
        (replaced - hit).as_millis()
    );
    within(ELECTION, leading.at - replaced, &what);
    scene.counts().await;
    match blow {
        Blow::Kill => primary.start_again().await.unwrap(),
        Blow::Stop => primary.resume().unwrap(),
    }
    println!(
        "{leading:?}; the lock moved on, at the longest after {} ms",
        scene.longest_pause(hit).await.as_millis()
    );
}

fn session_key(scene: &Scene, leader: Leading) -> String {
    format!("simba:session:{{{}}}", Testimony::of(&scene.scratch).session_of(leader))
}

async fn slots_are_moved_and_no_term_is_lost(storage: Storage) {
    let scene = Scene::of(5, &storage.url()).await;
    let cluster = storage.cluster();
    let first = scene.settled().await;
    let keys = [LEADER.to_owned(), COUNTER.to_owned(), session_key(&scene, first)];
    let begun = now();
    let mut moves = 0;
    while now() < begun + MOVING {
        for key in &keys {
            let to = next_primary(cluster, key).await;
            cluster.migrate(RedisCluster::slot_of(key), &to).await;
            moves += 1;
        }
    }
    let last = scene.settled().await;
    let paused = scene.longest_pause(begun).await;
    println!("{moves} moves; the lock moved on, at the longest after {} ms", paused.as_millis());
    assert_eq!(last.token, first.token, "a term was lost");
    scene.counts().await;
    scene.close().await;
}

async fn next_primary(cluster: &RedisCluster, key: &str) -> ClusterNode {
    let from = cluster.primary_of(key).await;
    let primaries = &cluster.nodes()[..3];
    let index = primaries.iter().position(|node| node.id() == from.id()).expect("nobody was replaced");
    primaries[(index + 1) % primaries.len()].clone()
}
