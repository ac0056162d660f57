//! An ensemble's servers are killed and stopped under five processes, and a process is started again at once.

use std::{collections::BTreeSet, time::Duration};

use simba_actors::backends::{Holder, LeaseBackend, connect};
use simba_processes::now;
use tokio::time::sleep;

use crate::{
    scene::{ELECTION, LEASE, Scene, within},
    storage::{Storage, on},
    testimony::Testimony,
};

/// How long leaders are killed.
const KILLING: Duration = Duration::from_secs(60);
const KILL_EVERY: Duration = Duration::from_secs(2);
const DOWN: Duration = Duration::from_millis(300);

/// Servers look for sessions that have ended once in a tick.
const TICK: Duration = Duration::from_millis(500);
const GLANCE: Duration = Duration::from_millis(20);

on!([zookeeper_ensemble] [
    its_leader_is_killed_every_two_seconds_for_a_minute,
    a_follower_stands_still_under_the_leader,
    a_process_that_is_back_at_once_waits_for_its_old_session,
]);

async fn its_leader_is_killed_every_two_seconds_for_a_minute(storage: Storage) {
    let mut scene = Scene::of(5, &storage.url()).await;
    scene.counts().await;
    let (first, begun) = (scene.settled().await, now());
    let mut kills = 0;
    while now() < begun + KILLING {
        let next = now() + KILL_EVERY;
        let leader = storage.ensemble().leader().await;
        leader.kill().await.unwrap();
        kills += 1;
        sleep(DOWN).await;
        leader.start_again().await.unwrap();
        sleep(next.saturating_sub(now())).await;
    }
    let ended = now();
    let leading = scene.leads(ended).await;
    within(ELECTION, leading.at - ended, &format!("{kills} leaders of the ensemble killed -> valid"));
    let gap = Testimony::of(&scene.scratch).longest_gap(begun, leading.at);
    let paused = scene.longest_pause(begun).await;
    println!(
        "{first:?}, {leading:?}; nobody led for {} ms at the longest; the lock moved on, at the longest after {} ms",
        gap.as_millis(),
        paused.as_millis()
    );
    scene.counts().await;

    // One more term, whose token rises.
    let killed = now();
    scene.crew.kill(leading.pid).await;
    let last = scene.leads_above(leading.token, killed).await;
    within(ELECTION + TICK, last.at - killed, "leader killed after that -> another is valid");
    scene.close().await;
}

/// Its server is a follower that stands still: its session goes on at another one, or ends.
async fn a_follower_stands_still_under_the_leader(storage: Storage) {
    let stuck = storage.ensemble().followers().await.remove(0);
    let mut scene = Scene::of(1, stuck.url()).await;
    let only = scene.crew.pids()[0];
    for _ in 0..2 {
        scene.join(&storage.url()).await;
    }
    let first = scene.settled().await;
    assert_eq!(first.pid, only);

    stuck.stop().unwrap();
    let stopped = now();
    let revoked = scene.crew.hears(only, &format!("revoked {}", first.token)).await;
    within(LEASE, revoked.at - stopped, "SIGSTOP of the leader's server -> revoked");
    let next = scene.leads_above(first.token, stopped).await;
    within(ELECTION + TICK, next.at - stopped, "SIGSTOP of the leader's server -> another is valid");
    assert_ne!(next.pid, only);

    // It answers what lay before it, and knows nothing of what came after.
    stuck.resume().unwrap();
    let resumed = now();
    let again = scene
        .crew
        .line(|line| line.pid == only && line.at >= resumed && line.text.starts_with("event SessionOpened"));
    within(ELECTION, again.await.at - resumed, "SIGCONT -> a new session");
    scene.counts().await;
    let held = scene.leads(now()).await;
    assert!(held.token >= next.token, "{held:?} after {next:?}");
    scene.close().await;
}

/// Started again within 100 ms of its end, it finds a node of its own name and of another session.
async fn a_process_that_is_back_at_once_waits_for_its_old_session(storage: Storage) {
    let mut scene = Scene::of(1, &storage.url()).await;
    let backend = connect(&storage.url()).await.unwrap();
    let first = scene.settled().await;
    let before = holder(&*backend).await.expect("it leads");
    assert_eq!(before.token.get(), first.token);

    let killed = now();
    scene.crew.kill(first.pid).await;
    let pid = scene.crew.start(&storage.url());
    let back = now() - killed;
    assert!(back < Duration::from_millis(100), "too late to prove anything: {back:?}");
    scene.obeys(pid).await;

    let after = loop {
        let found = holder(&*backend).await;
        // What is a session still now was one when the node was looked at.
        if sessions(&storage).await.contains(before.session.as_str()) {
            let found = found.map(|holder| (holder.session, holder.token));
            assert_eq!(found, Some((before.session.clone(), before.token)), "it was taken before its time");
        } else if let Some(holder) = found.filter(|holder| holder.session != before.session) {
            break holder;
        }
        assert!(now() < killed + LEASE * 3, "nobody leads");
        sleep(GLANCE).await;
    };
    assert!(after.token > before.token, "{after:?} after {before:?}");
    let next = scene.leads_above(first.token, killed).await;
    println!("back after {} ms; {first:?}, {next:?}", back.as_millis());
    within(ELECTION + TICK, next.at - killed, "killed and back at once -> valid");
    scene.close().await;
}

async fn holder(backend: &dyn LeaseBackend) -> Option<Holder> {
    backend.inspect(&"leader".parse().unwrap()).await.unwrap()
}

/// The ids of all sessions that have not ended.
async fn sessions(storage: &Storage) -> BTreeSet<String> {
    let leader = storage.ensemble().leader().await;
    leader.sessions().await.into_iter().map(|number| format!("{number:016x}")).collect()
}
