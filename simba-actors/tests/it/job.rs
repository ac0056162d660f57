//! Work that runs while this process leads.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use simba_actors::{Reason, SimbaEvent};
use tokio::time::{sleep, timeout};

use crate::fixture::{
    Behaviour, Did, LEASE, Leader, Log, MS, RENEW, World, end_of, eventually, now, seconds, virtually,
};

/// Counts how many are alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicU32>);

struct Guard(Alive);

impl Alive {
    fn guard(&self) -> Guard {
        self.0.fetch_add(1, Ordering::SeqCst);
        Guard(self.clone())
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn work_that_returns_early_releases_and_contends_again_after_half_a_renew() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let runs = Arc::new(AtomicU32::new(0));
        let seen = runs.clone();
        let started = now();
        let job = simba.election("job").unwrap().run_while_leader(move |_| {
            seen.fetch_add(1, Ordering::SeqCst);
            async {}
        });
        let job = job.await.unwrap();
        sleep(100 * MS).await;
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        assert!(world.is_free("job").await, "released while it is not led");
        eventually("led again", RENEW, || runs.load(Ordering::SeqCst) == 2).await;
        assert!(started.elapsed() >= RENEW / 2 && started.elapsed() < RENEW / 2 + 50 * MS);
        job.stop().await;
        assert_eq!(timeout(RENEW, job.join()).await.expect("a stopped job is over"), None);
    });
}

#[test]
fn break_ends_the_job_with_its_value_and_frees_the_name() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let job = simba.election("job").unwrap().run_while_leader(|term| async move {
            sleep(RENEW).await;
            if term.token().get() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(term.token()) }
        });
        let value = timeout(10 * LEASE, job.await.unwrap().join()).await.expect("it ends");
        assert_eq!(value.map(|token| token.get()), Some(3));
        assert!(world.is_free("job").await);
        assert!(simba.lock("job").unwrap().try_acquire().await.unwrap().is_some());
    });
}

#[test]
fn r16_work_that_panics_stays_out_for_one_lease() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let mut events = simba.events();
        let runs = Arc::new(AtomicU32::new(0));
        let seen = runs.clone();
        let job = simba.election("job").unwrap().run_while_leader(move |term| {
            let run = seen.fetch_add(1, Ordering::SeqCst);
            assert_ne!(run, 1, "the closure panics, as the test asked");
            async move {
                assert_ne!(run, 0, "the work panics, as the test asked");
                term.revoked().await;
            }
        });
        let job = job.await.unwrap();
        for round in 1..=2 {
            sleep(LEASE - 100 * MS).await;
            assert_eq!(runs.load(Ordering::SeqCst), round);
            assert!(world.is_free("job").await);
            sleep(200 * MS).await;
        }
        assert_eq!(runs.load(Ordering::SeqCst), 3);
        assert!(job.election().term().is_some_and(|term| term.is_valid()));
        let mut failed = 0;
        while let Ok(Some(event)) = timeout(MS, events.next()).await {
            failed += u32::from(matches!(event, SimbaEvent::Revoked { reason: Reason::HandlerFailed, .. }));
        }
        assert_eq!(failed, 2);
    });
}

#[test]
fn r04_the_work_is_dropped_before_the_other_is_elected() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let (a, b) = (world.simba().await, world.simba().await);
        let alive = Alive::default();
        let inside = alive.clone();
        let job = a.election("job").unwrap().run_while_leader(move |term| {
            let guard = inside.guard();
            async move {
                let _guard = guard;
                assert!(term.is_valid());
                std::future::pending::<()>().await;
            }
        });
        let job = job.await.unwrap();
        sleep(100 * MS).await;
        let at_election = alive.clone();
        let plan = crate::fixture::Plan::default().elected(move |_| {
            assert_eq!(at_election.count(), 0, "elected while the other's work is alive");
            std::future::ready(())
        });
        let leader = Leader::start_with("b", &log, plan);
        b.election("job").unwrap().start(&leader).await.unwrap();
        sleep(2 * LEASE).await;
        assert_eq!(alive.count(), 1);
        let asked = now();
        job.stop().await;
        assert_eq!(alive.count(), 0);
        assert!(asked.elapsed() < 10 * MS);
        eventually("b leads", RENEW, || log.count("b", Did::Led) == 1).await;
    });
}

#[test]
fn work_is_dropped_at_its_deadline_during_an_outage() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let alive = Alive::default();
        let inside = alive.clone();
        let job = simba.election("job").unwrap().run_while_leader(move |_| {
            let guard = inside.guard();
            async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }
        });
        let job = job.await.unwrap();
        sleep(100 * MS).await;
        world.backend.outage(Behaviour::Never);
        sleep(LEASE).await;
        assert_eq!(alive.count(), 0);
        world.backend.heal();
        sleep(LEASE + RENEW).await;
        assert_eq!(alive.count(), 1);
        simba.close().await.unwrap();
        assert_eq!(alive.count(), 0);
        assert_eq!(timeout(RENEW, job.join()).await.expect("the job is over"), None);
    });
}

#[test]
fn a_job_whose_runtime_is_gone_ends() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let election = simba.election("job").unwrap();
        let job = runtime.spawn(election.run_while_leader(|_| std::future::pending::<()>()));
        let job = job.await.unwrap().unwrap();
        sleep(100 * MS).await;
        assert!(job.election().term().is_some());
        end_of(runtime);
        eventually("noticed", seconds(5), || job.election().term().is_none()).await;
        sleep(Duration::from_millis(100)).await;
        assert!(world.is_free("job").await);
        let fresh = simba.election("job").unwrap().run_while_leader(|_| async {}).await;
        fresh.expect("the name is free again").stop().await;
    });
}
