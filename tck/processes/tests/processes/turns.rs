//! A lock that processes take from one another without a pause.

use std::{collections::BTreeMap, time::Duration};

use simba_processes::now;
use tokio::time::sleep;

use crate::{
    crew::Crew,
    scene::LEASE,
    scratch::Scratch,
    storage::{Storage, on},
};

const RUN: Duration = Duration::from_secs(2);

on!([redis, zookeeper][two_and_ten_processes_take_turns]);

async fn two_and_ten_processes_take_turns(storage: Storage) {
    for processes in [2, 10] {
        take_turns(processes, &storage).await;
    }
}

async fn take_turns(processes: usize, storage: &Storage) {
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers(&scratch, LEASE);
    for _ in 0..processes {
        crew.join(&storage.url(), &[]).await;
    }
    let pids = crew.pids();
    let begun = now();
    for pid in &pids {
        crew.tell(*pid, "turns").await;
    }
    sleep(RUN).await;
    for pid in &pids {
        crew.tell(*pid, "turned").await;
    }
    let mut turns: BTreeMap<u64, u32> = BTreeMap::new();
    let mut shares = Vec::new();
    for _ in &pids {
        let said = crew.line(|line| line.text.starts_with("turned")).await;
        let tokens: Vec<u64> = said.text.split(' ').skip(1).filter_map(|token| token.parse().ok()).collect();
        shares.push(tokens.len());
        for token in tokens {
            assert_eq!(turns.insert(token, said.pid), None, "two had token {token}");
        }
    }
    let took = (now() - begun).as_secs_f64();
    let holders: Vec<u32> = turns.into_values().collect();
    let changes = holders.windows(2).filter(|pair| pair[0] != pair[1]).count();
    println!(
        "{processes} processes: {:.0} turns and {:.0} hand-overs a second; shares {shares:?}",
        holders.len() as f64 / took,
        changes as f64 / took
    );
    assert!(changes > processes, "nobody hands over: {changes}");
    crew.close().await;
}
