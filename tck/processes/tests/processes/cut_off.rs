//! The way between some of the processes and the server is broken.

use simba_processes::now;
use simba_servers::{LostReply, Proxy};
use tokio::time::sleep;

use crate::{
    scene::{ELECTION, LEASE, RENEW, Scene, within},
    storage::{Storage, on},
};

on!([postgres, mysql, mariadb] [
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
    let first = scene.leads(now()).await;
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
    let kinds = [LostReply::Reset, LostReply::Silence];
    let mut scene = Scene::of(1, &ways[0].url(&storage.url())).await;
    scene.join(&ways[1].url(&storage.url())).await;
    scene.join(&storage.url()).await;

    // Every other moment: some calls are lost, and some that tell what became of them are not.
    let begun = now();
    let first = scene.leads(begun).await;
    while now() < begun + LEASE * 2 {
        for (way, kind) in ways.iter().zip(kinds) {
            way.lose_replies(kind).await;
        }
        sleep(RENEW / 5).await;
        for way in &ways {
            way.heal().await;
        }
        sleep(RENEW / 3).await;
    }
    scene.counts().await;
    // A session whose keep-alives are lost lives on for a lease after the last; then the name is free.
    let paused = scene.longest_pause(begun).await;
    within(LEASE + RENEW * 2, paused, "replies lost now and then -> the lock stood still for");

    // All of them, for long enough that the sessions are given up here and live on there.
    let lost = now();
    let leading = scene.leads(lost).await;
    for (way, kind) in ways.iter().zip(kinds) {
        way.lose_replies(kind).await;
    }
    sleep(LEASE).await;
    for way in &ways {
        way.heal().await;
    }
    let healed = now();
    let next = scene.leads(healed).await;
    within(ELECTION, next.at - healed, "replies come again -> valid");
    println!("{first:?}, {leading:?}, {next:?}");
    let counted = now();
    scene.counts().await;
    within(ELECTION, now() - counted, "replies come again -> the lock moved on");
    scene.close().await;
}
