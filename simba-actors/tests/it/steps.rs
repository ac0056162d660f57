//! Steps: what cannot be dropped in its middle is waited for, at most until the term would have ended.

use std::time::Duration;

use simba_actors::{Job, Reason, Simba, Step, TermError};
use tokio::{sync::oneshot, time::sleep};

use crate::fixture::{LEASE, Leader, Log, MS, RENEW, World, eventually, now, virtually};

/// A job whose work has begun one step and handed it out.
async fn job_in_a_step(simba: &Simba) -> (Job<std::convert::Infallible>, Step) {
    let (begun, step) = oneshot::channel();
    let begun = std::sync::Mutex::new(Some(begun));
    let work = move |term: simba_actors::Term| {
        if let Some(begun) = begun.lock().unwrap().take() {
            begun.send(term.step(RENEW).unwrap()).unwrap();
        }
        async move {
            term.revoked().await;
        }
    };
    let job = simba.election("job").unwrap().run_while_leader(work).await.unwrap();
    (job, step.await.unwrap())
}

#[test]
fn r04_a_stopped_job_hands_over_when_its_step_is_over() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let (job, step) = job_in_a_step(&simba).await;
        let asked = now();
        let stopping = actix::spawn(async move { job.stop().await });
        sleep(500 * MS).await;
        assert!(!step.term().is_valid() && !stopping.is_finished());
        assert!(!world.is_free("job").await, "the step is protected");
        drop(step);
        stopping.await.unwrap();
        assert!(world.is_free("job").await);
        assert!(asked.elapsed() < 600 * MS, "{:?}", asked.elapsed());
    });
}

#[test]
fn r04_a_step_that_does_not_end_delays_at_most_until_the_term_would_have_ended() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let (job, step) = job_in_a_step(&simba).await;
        let (asked, left) = (now(), step.term().remaining());
        job.stop().await;
        assert!(asked.elapsed() <= left + MS && asked.elapsed() + 100 * MS > left, "{:?}", asked.elapsed());
        assert_eq!(step.term().hand_over_remaining(), Duration::ZERO);
    });
}

#[test]
fn r04_a_leader_actor_s_step_is_waited_for_after_its_handler() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start("a", &log);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        eventually("elected", LEASE, || election.term().is_some()).await;
        let step = election.term().unwrap().step(RENEW).unwrap();
        let stopping = actix::spawn(async move { election.stop().await });
        sleep(300 * MS).await;
        assert!(!world.is_free("job").await && !stopping.is_finished());
        drop(step);
        stopping.await.unwrap();
        assert!(world.is_free("job").await);
        log.assert_alternates("a");
    });
}

#[test]
fn r04_a_lock_is_released_when_its_steps_are_over() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let lock = simba.lock("x").unwrap();
        let held = lock.acquire(RENEW).await.unwrap();
        let steps = [held.step(RENEW).unwrap(), held.step(RENEW).unwrap()];
        let term = (*held).clone();
        drop(held);
        sleep(100 * MS).await;
        assert_eq!(term.reason(), Some(Reason::Released));
        assert!(!world.is_free("x").await);
        for step in steps {
            drop(step);
        }
        sleep(MS).await;
        assert_eq!(lock.acquire(RENEW).await.unwrap().token().get(), 2);
    });
}

#[test]
fn a_step_that_may_not_begin_delays_nothing() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let held = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        assert!(matches!(held.step(2 * LEASE), Err(TermError::TooShort { .. })));
        let term = (*held).clone();
        let asked = now();
        held.release().await.unwrap();
        assert!(asked.elapsed() < MS);
        assert!(matches!(term.step(Duration::ZERO), Err(TermError::Ended { .. })));
    });
}
