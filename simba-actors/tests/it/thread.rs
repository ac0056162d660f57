//! Simba's own thread dies, and who is left with a handle is told so.

use std::{fs, future::pending, sync::Arc, time::Duration};

use simba_actors::{LockError, ObserveError, Reason, Simba, StartError};
use tokio::time::timeout;

use crate::fixture::{FaultyBackend, RENEW, World, eventually, seconds};

/// The threads of that name in this process.
fn threads(named: &str) -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim_end() == named).count()
}

/// So long may a thread take that shares its processors with every other test.
const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r21_a_keeper_that_dies_ends_its_terms_and_its_thread() {
    let backend = FaultyBackend::new();
    let builder = Simba::builder().backend(Arc::new(backend.clone())).config(World::config());
    let before = threads("simba");
    let simba = builder.connect().await.unwrap();
    assert_eq!(threads("simba"), before + 1);
    let held = simba.lock("x").unwrap().acquire(PATIENCE).await.unwrap();
    let job = simba.election("job").unwrap().run_while_leader(|_| pending::<()>()).await.unwrap();
    eventually("the job leads", PATIENCE, || job.election().term().is_some()).await;
    let term = job.election().term().unwrap();

    backend.panic_in_hints();
    assert_eq!(timeout(PATIENCE, term.revoked()).await, Ok(Reason::Closed));
    assert_eq!(timeout(PATIENCE, held.revoked()).await, Ok(Reason::Closed));
    assert!(!term.is_valid() && !held.is_valid());
    let closed = async {
        let lock = simba.lock("y").unwrap();
        assert!(matches!(lock.acquire(RENEW).await, Err(LockError::Closed)));
        assert!(matches!(lock.try_acquire().await, Err(LockError::Closed)));
        assert!(matches!(lock.holder().await, Err(ObserveError::Closed)));
        let election = simba.election("other").unwrap();
        let started = election.run_while_leader(|_| pending::<()>()).await;
        assert!(matches!(started, Err(StartError::Closed)));
        job.stop().await;
        // Nobody is left to confirm anything; that it resolves is the point.
        let _ = simba.close().await;
    };
    timeout(PATIENCE, closed).await.expect("nothing waits for a keeper that is dead");
    drop(held);
    eventually("its thread ends", PATIENCE, || threads("simba") == before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r14_a_close_ends_the_thread_although_handles_are_left() {
    let builder = Simba::builder().backend(Arc::new(FaultyBackend::new())).config(World::config());
    let before = threads("simba");
    let simba = builder.connect().await.unwrap();
    let lock = simba.lock("x").unwrap();
    timeout(seconds(30), simba.close()).await.unwrap().unwrap();
    eventually("its thread ends", PATIENCE, || threads("simba") == before).await;
    assert!(matches!(lock.acquire(RENEW).await, Err(LockError::Closed)));
}
