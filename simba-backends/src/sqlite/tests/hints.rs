//! Hints, from this process and from others.

use tokio_stream::StreamExt;

use super::*;
use crate::{Hint, HintSource};

/// A release is to be hinted within this.
const SECOND: Duration = Duration::from_secs(1);

async fn next(hints: &mut Box<dyn HintSource>, within: Duration) -> Option<Hint> {
    let next = tokio::time::timeout(within, hints.next()).await;
    next.ok().map(|hint| hint.expect("hints do not end"))
}

fn released(text: &str) -> Option<Hint> {
    Some(Hint::Released { name: name(text), waiters: None })
}

/// Another backend of the same file, a source of hints of the first, and a session of the other.
async fn two(home: &Home) -> (SqliteBackend, SqliteBackend, Box<dyn HintSource>, SessionId) {
    let (here, there) = (home.backend().await, home.backend().await);
    let hints = here.hints().unwrap();
    let session = open(&there, LONG).await;
    (here, there, hints, session)
}

#[tokio::test]
async fn a_release_by_another_connection_is_hinted_once_within_a_second() {
    let home = Home::new();
    let (_here, there, mut hints, session) = two(&home).await;
    let token = granted(&there, &session, "a").await;
    granted(&there, &session, "b").await;
    hints.want(&name("a"));
    hints.want(&name("b"));
    assert_eq!(next(&mut hints, Duration::from_millis(300)).await, None);
    there.release(&session, &[(name("a"), token)]).await.unwrap();
    assert_eq!(next(&mut hints, SECOND).await, released("a"));
    owned(&there, &session).await.unwrap();
    assert_eq!(next(&mut hints, Duration::from_millis(300)).await, None);
    there.close_session(&session).await.unwrap();
    assert_eq!(next(&mut hints, SECOND).await, released("b"));
}

#[tokio::test]
async fn a_release_by_the_same_backend_is_hinted_for_each_term() {
    let home = Home::new();
    let (here, _there, mut hints, _) = two(&home).await;
    let session = open(&here, LONG).await;
    let mut token = granted(&here, &session, "a").await;
    hints.want(&name("a"));
    assert_eq!(next(&mut hints, Duration::from_millis(200)).await, None);
    for _ in 0..3 {
        here.release(&session, &[(name("a"), token)]).await.unwrap();
        assert_eq!(next(&mut hints, BOUND).await, released("a"));
        token = granted(&here, &session, "a").await;
    }
}

#[tokio::test]
async fn a_free_name_is_hinted_at_once_and_an_unwanted_one_not_at_all() {
    let home = Home::new();
    let (_here, there, mut hints, session) = two(&home).await;
    hints.want(&name("free"));
    assert_eq!(next(&mut hints, BOUND).await, released("free"));
    hints.want(&name("free"));
    assert_eq!(next(&mut hints, BOUND).await, released("free"));
    hints.unwant(&name("free"));
    let token = granted(&there, &session, "free").await;
    there.release(&session, &[(name("free"), token)]).await.unwrap();
    assert_eq!(next(&mut hints, Duration::from_millis(300)).await, None);
}

#[tokio::test]
async fn after_a_replaced_file_a_gap_says_look_again() {
    let home = Home::new();
    let (_here, there, mut hints, session) = two(&home).await;
    granted(&there, &session, "a").await;
    hints.want(&name("a"));
    assert_eq!(next(&mut hints, Duration::from_millis(200)).await, None);
    for file in ["simba.db", "simba.db-wal", "simba.db-shm"] {
        std::fs::remove_file(home.0.join(file)).unwrap();
    }
    assert_eq!(next(&mut hints, BOUND).await, Some(Hint::Gap));
    assert_eq!(next(&mut hints, BOUND).await, released("a"));
}

#[tokio::test]
async fn a_dropped_source_ends_its_task() {
    let home = Home::new();
    let (_here, there, mut hints, session) = two(&home).await;
    granted(&there, &session, "a").await;
    let before = alive();
    hints.want(&name("a"));
    assert_eq!(next(&mut hints, Duration::from_millis(100)).await, None);
    assert_eq!(alive(), before + 1);
    drop(hints);
    eventually("the task ended", async || alive() == before).await;
}

fn alive() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}
