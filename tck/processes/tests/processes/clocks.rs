//! Wall clocks that are wrong: those of processes change nothing, the server's costs the terms.

use std::{fs, time::Duration};

use simba_actors::backends::connect;
use simba_processes::now;
use simba_servers::{Offset, clock_shim};
use tokio::time::sleep;

use crate::{
    scene::{ELECTION, LEASE, RENEW, Scene, within},
    storage::{Storage, on},
};

const HOUR: Duration = Duration::from_secs(3600);

on!([postgres, mysql, mariadb] [
    processes_whose_clocks_are_an_hour_off_lead_as_ever,
    a_server_whose_clock_steps_by_an_hour_ends_the_terms_and_gives_new_ones,
]);

on!([redis][a_server_whose_clock_steps_by_an_hour_ends_the_terms_and_gives_new_ones]);

on!([redis_cluster][servers_whose_clocks_are_two_hours_apart_measure_the_same_leases]);

async fn processes_whose_clocks_are_an_hour_off_lead_as_ever(storage: Storage) {
    let mut scene = Scene::new(LEASE);
    let ahead = join(&mut scene, &storage, 3_600).await;
    let first = scene.leads(Duration::ZERO).await;
    assert_eq!(first.pid, ahead);
    let started_ahead = started(&storage).await;

    let behind = join(&mut scene, &storage, -3_600).await;
    let killed = now();
    scene.crew.kill(ahead).await;
    let second = scene.leads_above(first.token, killed).await;
    within(ELECTION, second.at - killed, "SIGKILL of one an hour ahead -> one an hour behind is valid");
    assert_eq!(second.pid, behind);
    let started_behind = started(&storage).await;
    assert!(started_ahead > started_behind, "{started_ahead} was before {started_behind}");

    scene.join(&storage.url()).await;
    let killed = now();
    scene.crew.kill(behind).await;
    let third = scene.leads_above(second.token, killed).await;
    within(ELECTION, third.at - killed, "SIGKILL of one an hour behind -> one on time is valid");
    scene.close().await;
}

/// A worker that sees another time of day.
async fn join(scene: &mut Scene, storage: &Storage, seconds: i64) -> u32 {
    let mut offset = vec![0; 4096];
    offset[..8].copy_from_slice(&(seconds * 1_000_000_000).to_ne_bytes());
    let file = scene.scratch.path(&format!("clock{seconds}"));
    fs::write(&file, offset).unwrap();
    let mut command = scene.crew.command(&storage.url());
    command.env("LD_PRELOAD", clock_shim()).env("STEPCLOCK_FILE", file);
    let pid = scene.crew.start_as(command);
    scene.obeys(pid).await;
    pid
}

/// When the process that leads believes that it started; later is greater.
async fn started(storage: &Storage) -> String {
    let backend = connect(&storage.url()).await.unwrap();
    let holder = backend.inspect(&"leader".parse().unwrap()).await.unwrap().expect("somebody leads");
    let metadata = holder.metadata.to_string();
    metadata.split_once("started=").expect("every process tells it").1.to_owned()
}

/// A step breaks the promise for a moment: another may be elected before the leader knows. Then it is told, and
/// the tokens have risen.
async fn a_server_whose_clock_steps_by_an_hour_ends_the_terms_and_gives_new_ones(storage: Storage) {
    if !storage.is_ours() {
        return;
    }
    let mut scene = Scene::new(LEASE);
    for _ in 0..3 {
        let pid = scene.crew.join(&storage.url(), &["lead"]).await;
        scene.crew.hears(pid, "contends").await;
    }
    // R20 compares the spans between keep-alives: one was answered.
    let first = scene.settled().await;
    storage.step_clock(Offset::Ahead(HOUR));
    let stepped = now();
    let revoked = scene.crew.hears(first.pid, &format!("revoked {}", first.token)).await;
    within(RENEW, revoked.at - stepped, "server's clock + 1 h -> revoked");
    let second = scene.leads_above(first.token, stepped).await;
    within(ELECTION, second.at - stepped, "server's clock + 1 h -> a new term is valid");
    sleep(LEASE).await;
    assert_eq!(scene.leads(now()).await.token, second.token, "all is as before");
    scene.crew.close().await;
    let heard = scene.crew.heard().iter();
    let alarms: Vec<_> = heard.filter(|line| line.text.starts_with("event ClockStep")).collect();
    println!("{alarms:?}");
    assert!(!alarms.is_empty(), "nobody was told that the server's clock has stepped");
}

/// A replica has the machine's clock, and is not asked.
async fn servers_whose_clocks_are_two_hours_apart_measure_the_same_leases(storage: Storage) {
    let cluster = storage.cluster();
    cluster.nodes()[0].step_clock(Offset::Ahead(HOUR)).unwrap();
    cluster.nodes()[1].step_clock(Offset::Behind(HOUR)).unwrap();
    cluster.wait_until_whole().await;
    let mut scene = Scene::of(3, &storage.url()).await;
    let first = scene.settled().await;
    sleep(LEASE).await;
    assert_eq!(scene.leads(now()).await.token, first.token, "a term is renewed wherever the lease is");
    let killed = now();
    scene.crew.kill(first.pid).await;
    let second = scene.leads_above(first.token, killed).await;
    within(ELECTION, second.at - killed, "SIGKILL, servers' clocks an hour off -> another is valid");
    assert!(second.at - killed > LEASE - RENEW - Duration::from_millis(500), "a lease ended too early");
    scene.counts().await;
    assert_eq!(scene.leads(now()).await.token, second.token);
    scene.close().await;
}
