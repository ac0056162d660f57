//! Simba in a multi-thread tokio program without a System, on its own thread and in real time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use simba_actors::{Reason, Simba, SimbaConfig, SimbaEvent, Term, backends::memory::MemoryBackend};
use tokio::time::{sleep, timeout};

use crate::fixture::{MS, end_of, eventually, seconds};

async fn on_memory(backend: &MemoryBackend) -> Simba {
    let config = SimbaConfig::builder().lease(seconds(3)).build().unwrap();
    Simba::builder().backend(Arc::new(backend.clone())).config(config).connect().await.unwrap()
}

/// Many tasks of several Simbas, one lock, a counter that needs it.
async fn count_under_a_lock(simbas: &[Simba], tasks: usize, rounds: u64) {
    let (inside, counter) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let task = |n: usize| {
        let lock = simbas[n % simbas.len()].lock("counter").unwrap();
        let (inside, counter) = (inside.clone(), counter.clone());
        tokio::spawn(async move {
            for _ in 0..rounds {
                let term = lock.acquire(seconds(120)).await.unwrap();
                assert!(!inside.swap(true, Ordering::SeqCst), "two inside");
                let count = counter.load(Ordering::SeqCst);
                tokio::task::yield_now().await;
                counter.store(count + 1, Ordering::SeqCst);
                inside.store(false, Ordering::SeqCst);
                term.release().await.unwrap();
            }
        })
    };
    for done in join_all((0..tasks).map(task)).await {
        done.unwrap();
    }
    assert_eq!(counter.load(Ordering::SeqCst), tasks as u64 * rounds);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lock_on_memory_excludes_across_tasks_and_simbas() {
    let backend = MemoryBackend::new();
    let simbas = [on_memory(&backend).await, on_memory(&backend).await];
    count_under_a_lock(&simbas, 16, 50).await;
    for simba in &simbas {
        simba.close().await.unwrap();
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lock_on_sqlite_excludes_across_tasks_and_simbas() {
    let directory = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = directory.join(format!("plain-{}.db", std::process::id()));
    let url = format!("sqlite://{}", path.display());
    let simbas = [Simba::connect(&url).await.unwrap(), Simba::connect(&url).await.unwrap()];
    count_under_a_lock(&simbas, 8, 5).await;
    for simba in &simbas {
        simba.close().await.unwrap();
    }
    assert!(matches!(simbas[0].lock("x").unwrap().try_acquire().await, Err(simba_actors::LockError::Closed)));
    for ending in ["", "-wal", "-shm"] {
        // The last two are gone already if SQLite cleaned up.
        let _ = std::fs::remove_file(format!("{}{ending}", path.display()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_lead_one_after_the_other() {
    let backend = MemoryBackend::new();
    let (a, b) = (on_memory(&backend).await, on_memory(&backend).await);
    let leading = Arc::new(AtomicU64::new(0));
    let work = |who: u64| {
        let leading = leading.clone();
        move |term: Term| {
            leading.store(who, Ordering::SeqCst);
            async move {
                let blocking = tokio::task::spawn_blocking(move || term.ensure_valid(MS).is_ok());
                assert!(blocking.await.unwrap());
                std::future::pending::<()>().await;
            }
        }
    };
    let first = a.election("job").unwrap().run_while_leader(work(1)).await.unwrap();
    eventually("a leads", seconds(30), || leading.load(Ordering::SeqCst) == 1).await;
    let second = b.election("job").unwrap().run_while_leader(work(2)).await.unwrap();
    let leader = second.election().leader().await.unwrap().expect("a leads");
    assert_eq!(leader.session, *a.first_session());
    assert!(leader.metadata.as_str().contains(&format!("pid={}", std::process::id())));
    first.stop().await;
    assert_eq!(timeout(seconds(30), first.join()).await.expect("it ends"), None);
    eventually("b leads", seconds(30), || leading.load(Ordering::SeqCst) == 2).await;
    let term = second.election().term().unwrap();
    let revoked = tokio::spawn(async move { term.run(std::future::pending::<()>()).await });
    b.close().await.unwrap();
    assert_eq!(revoked.await.unwrap(), Err(Reason::Closed));
    assert_eq!(timeout(seconds(30), second.join()).await.expect("it ends"), None);
    a.close().await.unwrap();
}

#[test]
fn a_lock_outlives_the_runtime_that_took_it_until_it_is_dropped() {
    let backend = MemoryBackend::new();
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let simba = second.block_on(on_memory(&backend));
    let lock = simba.lock("x").unwrap();
    let term = first.block_on(lock.acquire(seconds(30))).unwrap();
    end_of(first);
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(term.is_valid(), "keep-alives do not depend on the user's runtime");
    second.block_on(async {
        assert!(lock.try_acquire().await.unwrap().is_none());
        drop(term);
        lock.acquire(seconds(30)).await.unwrap().release().await.unwrap();
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_last_simba_frees_its_leases_for_another() {
    let backend = MemoryBackend::new();
    let (a, b) = (on_memory(&backend).await, on_memory(&backend).await);
    let mut events = a.events();
    let job = a.election("job").unwrap().run_while_leader(|_| std::future::pending::<()>()).await.unwrap();
    eventually("a leads", seconds(30), || job.election().term().is_some()).await;
    drop(a);
    b.lock("job").unwrap().acquire(seconds(30)).await.unwrap().release().await.unwrap();
    let closed = async { while events.next().await != Some(SimbaEvent::Closed) {} };
    timeout(seconds(30), closed).await.expect("it closes");
    sleep(MS).await;
    assert!(job.election().step_down(MS).await.is_err());
}

#[tokio::test]
async fn a_connect_that_is_given_up_holds_nothing() {
    let backend = MemoryBackend::new();
    for wait in [0, 1, 5, 20] {
        let connect = Simba::builder().backend(Arc::new(backend.clone())).connect();
        // Whether it was in time does not matter.
        let _ = timeout(wait * MS, connect).await;
    }
    let simba = on_memory(&backend).await;
    simba.close().await.unwrap();
}
