//! A leader that stands still for longer than its lease.

use std::time::Duration;

use rustix::process::Signal;
use simba_processes::{Log, Record, now};
use tokio::time::sleep;

use crate::{
    crew::Crew,
    scratch::{Scratch, let_go},
    testimony::Testimony,
};

const LEASE: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_leader_stopped_for_two_leases_finds_its_term_invalid_before_anything_else() {
    let scratch = Scratch::new();
    let mut crew = Crew::of_workers("lead", &scratch, LEASE);
    let a = crew.start();
    let first = crew.hears(a, "elected").await.number_after("elected");
    let b = crew.start();
    crew.hears(b, "ready").await;
    crew.tell(a, "write").await;
    crew.hears(a, &format!("Accepted {first}")).await;

    stop(&crew, a, &scratch).await;
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

    crew.tell(b, "close").await;
    crew.hears(b, "closed").await;
    let third = crew.hears(a, "elected").await.number_after("elected");
    assert!(third > second);
    crew.tell(a, "close").await;
    crew.hears(a, "closed").await;
    check(&scratch, first, third, resumed);
}

/// Stops it, but not inside of a write: that would block the file for all.
async fn stop(crew: &Crew, pid: u32, scratch: &Scratch) {
    let lock = scratch.hold("simba.db").await;
    crew.signal(pid, Signal::STOP);
    let_go(lock).await;
}

fn check(scratch: &Scratch, first: u64, third: u64, resumed: Duration) {
    let log = Log::read(&scratch.path("1.log")).unwrap();
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
    Testimony::of(scratch).check();
}
