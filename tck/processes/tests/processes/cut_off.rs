//! The way between some of the processes and the server is broken.

use simba_processes::now;
use simba_servers::{LostReply, Proxy};
use tokio::time::sleep;

use crate::{
    scene::{ELECTION, LEASE, RENEW, Scene, within},
    storage::{Storage, on},
};

on!([zookeeper][replies_are_lost_after_the_commit]);

on!([postgres, mysql, mariadb, redis] [
    a_leader_is_cut_off_for_two_leases,
    replies_are_lost_after_the_commit,
]);

async fn a_leader_is_cut_off_for_two_leases(storage: Storage) {
    let way = Proxy::before(storage.address()).await;
    let mut scene = Scene::of(1, &way.url(&storage.url())).await;
    let cut_off = scene.crew.pids()[0];
    for _ in 0..2 {
        scene.join(&storage.url()).await;
    }
    let first = scene.settled().await;
    assert_eq!(first.pid, cut_off);

    way.black_hole().await;
    let cut = now();
    let next = scene.leads_above(first.token, cut).await;
    within(ELECTION, next.at - cut, "leader in a black hole -> another is valid");
    assert_ne!(next.pid, cut_off);
    sleep((cut + LEASE * 2).saturating_sub(now())).await;
    way.heal().await;
    let healed = now();
    let again = scene.crew.line(|line| {
        line.pid == cut_off && line.at >= healed && line.text.starts_with("event SessionOpened")
    });
    let again = again.await;
    within(RENEW * 2, again.at - healed, "healed -> a new session");

    for pid in scene.crew.pids().into_iter().filter(|pid| *pid != cut_off) {
        scene.crew.close_one(pid).await;
    }
    let alone = now();
    let last = scene.leads_above(next.token, alone).await;
    within(ELECTION, last.at - alone, "the others closed -> the one that was cut off is valid");
    assert_eq!(last.pid, cut_off);
    scene.close().await;
}

/// What was committed without the client's knowing is known by the next keep-alive that is answered.
async fn replies_are_lost_after_the_commit(storage: Storage) {
    let ways = [Proxy::before(storage.address()).await, Proxy::before(storage.address()).await];
    let mut scene = Scene::of(1, &ways[0].url(&storage.url())).await;
    scene.join(&ways[1].url(&storage.url())).await;
    let direct = scene.join(&storage.url()).await;

    // All of them: a session that is given up here is kept alive there by what still arrives, for a lease at
    // the most, and then for one more.
    let first = scene.settled().await;
    let lost = now();
    assert_ne!(first.pid, direct);
    lose(&ways).await;
    let next = scene.leads_above(first.token, lost).await;
    within(LEASE * 2 + RENEW * 2, next.at - lost, "replies lost for good -> another is valid");
    assert_eq!(next.pid, direct);
    scene.counts().await;
    heal(&ways).await;

    // Every other moment: some calls are lost, and some that tell what became of them are not.
    let begun = now();
    while now() < begun + LEASE {
        lose(&ways).await;
        sleep(RENEW / 5).await;
        heal(&ways).await;
        sleep(RENEW / 3).await;
    }
    scene.counts().await;
    within(LEASE + RENEW * 2, scene.longest_pause(begun).await, "replies lost now and then -> no lock for");
    let healed = now();
    scene.crew.close_one(direct).await;
    let last = scene.leads_above(next.token, healed).await;
    within(ELECTION, last.at - healed, "replies come again, the other closed -> valid");
    scene.close().await;
}

async fn lose(ways: &[Proxy; 2]) {
    ways[0].lose_replies(LostReply::Reset).await;
    ways[1].lose_replies(LostReply::Silence).await;
}

async fn heal(ways: &[Proxy; 2]) {
    for way in ways {
        way.heal().await;
    }
}
