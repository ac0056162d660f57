//! A leader that stands still for longer than its lease.

use std::time::Duration;

use rustix::process::Signal;
use simba_processes::{Record, now};
use tokio::time::sleep;

use crate::{
    crew::Crew,
    scene::LEASE,
    scratch::Scratch,
    storage::{Storage, on},
    testimony::Testimony,
};

on!([sqlite, postgres, mysql, mariadb, redis, redis_cluster, zookeeper]
    [a_leader_stopped_for_two_leases_finds_its_term_invalid_before_anything_else]);

async fn a_leader_stopped_for_two_leases_finds_its_term_invalid_before_anything_else(storage: Storage) {
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers(&scratch, LEASE);
    let a = crew.join(&storage.url(), &["lead"]).await;
    let first = crew.hears(a, "elected").await.number_after("elected");
    let b = crew.join(&storage.url(), &["lead"]).await;
    crew.tell(a, "write").await;
    crew.hears(a, &format!("Accepted {first}")).await;

    crew.halt(a, &storage, &scratch).await;
    let second = crew.hears(b, "elected").await.number_after("elected");
    assert!(second > first);
    crew.tell(b, "write").await;
    crew.hears(b, &format!("Accepted {second}")).await;
    sleep(LEASE).await;

    let resumed = now();
    crew.tell(a, "write").await;
    crew.signal(a, Signal::CONT);
    // Whichever comes first, the order or the end of the term: the write is fenced.
    crew.line(|line| line.pid == a && line.text.starts_with(&format!("Refused {first}"))).await;

    crew.close_one(b).await;
    // It may be elected sooner than the other one is done.
    let again =
        crew.finds(|line| line.pid == a && line.at >= resumed && line.text.starts_with("elected")).await;
    let third = again.number_after("elected");
    assert!(third > second);
    crew.close_one(a).await;
    check(&scratch, a, first, third, resumed);
}

fn check(scratch: &Scratch, pid: u32, first: u64, third: u64, resumed: Duration) {
    let testimony = Testimony::of(scratch);
    let log = testimony.by(pid);
    let valid_later =
        |record: &&Record| matches!(record, Record::Valid { token, at } if *token == first && *at > resumed);
    assert_eq!(log.iter().find(valid_later), None, "valid after it was resumed");
    let looked =
        |record: &Record| matches!(record, Record::Invalid { token, at } if *token == first && *at > resumed);
    assert!(log.iter().any(looked), "the first look after it was resumed finds the term invalid");
    let ends = log.iter().filter(|record| matches!(record, Record::Revoked { token, .. } if *token == first));
    assert_eq!(ends.count(), 1, "one revoked for one elected");
    let session = |wanted: u64| {
        log.iter().find_map(|record| match record {
            Record::Elected { token, session } if *token == wanted => Some(session.clone()),
            _ => None,
        })
    };
    assert!(session(first).is_some() && session(first) != session(third), "the session is a new one");
    testimony.check();
}
