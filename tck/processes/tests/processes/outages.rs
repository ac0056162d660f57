//! The server is killed, takes no writes, or another one takes its place.

use std::time::Duration;

use simba_processes::now;
use simba_servers::{Postgres, Proxy};
use tokio::time::sleep;

use crate::{
    scene::{ELECTION, LEASE, RENEW, Scene, within},
    storage::{Storage, on},
};

/// Shorter than a lease by so much that the next try comes in time.
const SHORT: Duration = Duration::from_secs(1);

on!([zookeeper][a_server_is_killed_twice_under_five_processes]);

on!([postgres, mysql, mariadb, redis] [
    a_server_is_killed_twice_under_five_processes,
    a_server_takes_no_writes_for_two_leases_and_for_less_than_one,
]);

async fn a_server_is_killed_twice_under_five_processes(storage: Storage) {
    if !storage.is_ours() {
        return;
    }
    let scene = Scene::of(5, &storage.url()).await;
    for down in [LEASE * 3 / 2, SHORT] {
        scene.settled().await;
        storage.kill().await;
        sleep(down).await;
        storage.start_again().await;
        let returned = now();
        let leading = scene.leads(returned).await;
        within(
            ELECTION,
            leading.at - returned,
            &format!("server back after {} ms -> valid", down.as_millis()),
        );
        scene.counts().await;
        let paused = scene.longest_pause(returned).await;
        println!("{leading:?}; the lock moved on, at the longest after {} ms", paused.as_millis());
    }
    assert_eq!(scene.crew.pids().len(), 5);
    scene.close().await;
}

async fn a_server_takes_no_writes_for_two_leases_and_for_less_than_one(storage: Storage) {
    if !storage.is_ours() {
        return;
    }
    let mut scene = Scene::of(3, &storage.url()).await;
    scene.settled().await;
    storage.read_only().await;
    sleep(LEASE * 2).await;
    // Before the order: it may be obeyed sooner than it is answered.
    let ended = now();
    storage.read_write().await;
    let leading = scene.leads(ended).await;
    within(RENEW * 2, leading.at - ended, "writes again after two leases -> valid");
    scene.counts().await;

    let begun = now();
    storage.read_only().await;
    sleep(SHORT).await;
    storage.read_write().await;
    sleep(LEASE).await;
    let later = scene.leads(now()).await;
    let said = |word: &str, heard: &[crate::crew::Line]| {
        heard.iter().any(|line| line.at >= begun && line.pid == leading.pid && line.text.contains(word))
    };
    let heard = scene.crew.heard();
    let (expired, revoked) = (said("SessionExpired", heard), said("revoked", heard));
    println!("no writes for {} ms: session expired: {expired}, {leading:?}, {later:?}", SHORT.as_millis());
    assert!(expired || (!revoked && later.token == leading.token), "a term was lost, and its session not");
    scene.close().await;
}

/// With synchronous commit the standby has every token that anybody was granted.
#[tokio::test]
async fn postgres_standby_is_promoted_when_the_primary_is_killed() {
    let primary = Storage::postgres().await;
    let Storage::Postgres(server) = &primary else { unreachable!("it is PostgreSQL") };
    if !primary.is_ours() {
        return;
    }
    let standby: Postgres = server.standby().await.unwrap();
    let way = Proxy::before(primary.address()).await;
    let scene = Scene::of(3, &way.url(&primary.url())).await;
    scene.counts().await;

    let last = scene.leads(now()).await;
    primary.kill().await;
    let killed = now();
    standby.promote().await.unwrap();
    way.lead_to(standby.address());
    let promoted = now();
    let leading = scene.leads(promoted).await;
    within(ELECTION, leading.at - promoted, "standby promoted -> valid");
    println!("promoted in {} ms: {last:?}, {leading:?}", (promoted - killed).as_millis());
    assert!(leading.token >= last.token);
    scene.counts().await;

    // One more term at the least, which only the new primary gives.
    let mut scene = scene;
    scene.crew.kill(leading.pid).await;
    let next = scene.leads_above(leading.token, killed).await;
    println!("then {next:?}");
    scene.close().await;
}
