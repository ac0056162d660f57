//! Simba's own actors panic, and their users do not notice more than they must.

use actix::Message;
use tokio::time::{sleep, timeout};

use super::*;
use crate::{LockError, Reason, Simba};

#[expect(dead_code, unused_imports, reason = "not every fixture is needed here")]
#[path = "../../../tests/it/fixture/mod.rs"]
mod fixture;

use fixture::{
    Behaviour, Did, LEASE, Leader, Log, MS, Op, Plan, RENEW, World, eventually, seconds, virtually,
};

/// Makes one of Simba's actors panic.
#[derive(Clone, Message)]
#[rtype(result = "()")]
enum Crash {
    Session,
    Backend,
    Election(LeaseName),
    Lock(LeaseName),
}

/// Asks for what a lock says when it is idle after its first request.
#[derive(Message)]
#[rtype(result = "Option<LockIdle>")]
struct IdleOf(LeaseName);

impl Handler<IdleOf> for SessionActor {
    type Result = Option<LockIdle>;
    fn handle(&mut self, IdleOf(name): IdleOf, _: &mut Context<Self>) -> Option<LockIdle> {
        let lock = self.children.borrow().locks.get(&name)?.addr.clone();
        Some(LockIdle { name, lock, handled: 1 })
    }
}

macro_rules! crashes {
    ($($actor:ty),*) => {$(
        impl Handler<Crash> for $actor {
            type Result = ();
            fn handle(&mut self, _: Crash, _: &mut Context<Self>) {
                panic!("the actor panics, as the test asked");
            }
        }
    )*};
}

crashes!(BackendActor, ElectionActor, LockActor);

impl Handler<Crash> for SessionActor {
    type Result = ();
    fn handle(&mut self, crash: Crash, _: &mut Context<Self>) {
        let children = self.children.borrow();
        match &crash {
            Crash::Session => panic!("the actor panics, as the test asked"),
            Crash::Backend => self.backend.do_send(crash),
            Crash::Election(name) => children.elections[name].addr.do_send(crash),
            Crash::Lock(name) => children.locks[name].addr.do_send(crash),
        }
    }
}

fn all(name: &str) -> [Crash; 3] {
    [Crash::Session, Crash::Backend, Crash::Election(name.parse().unwrap())]
}

async fn crash(simba: &Simba, crash: Crash) {
    simba.session_actor().do_send(crash);
    sleep(MS).await;
}

#[test]
fn a_term_outlives_a_panic_and_what_was_told_is_told_once() {
    virtually(async {
        for victim in all("job") {
            let (world, log) = (World::new(), Log::default());
            let simba = world.simba().await;
            let mut events = simba.events();
            let (leader, listener) = (Leader::start("a", &log), Leader::start("listener", &log));
            let election = simba.election("job").unwrap().start(&leader).await.unwrap();
            election.subscribe(&listener);
            sleep(100 * MS).await;
            let is_child = matches!(victim, Crash::Election(_));
            crash(&simba, victim).await;
            sleep(5 * LEASE).await;
            assert!(election.term().is_some_and(|term| term.is_valid()));
            assert_eq!(log.told("a"), [Did::Elected]);
            election.step_down(RENEW).await.unwrap();
            sleep(2 * RENEW).await;
            election.stop().await;
            assert_eq!(log.told("a").len(), 4);
            log.assert_alternates("a");
            log.assert_alternates("listener");
            assert!(world.is_free("job").await);
            world.assert_nothing_left(&simba, "job").await;
            simba.close().await.unwrap();
            let mut restarted = Vec::new();
            while let Some(event) = events.next().await {
                if let SimbaEvent::ActorRestarted { actor } = event {
                    restarted.push(actor);
                }
            }
            assert_eq!(restarted.len(), 1, "{restarted:?}");
            assert!(!is_child || restarted == ["ElectionActor job"]);
        }
    });
}

#[test]
fn a_panic_during_a_hand_over_neither_repeats_nor_forgets_revoked() {
    virtually(async {
        for victim in all("job") {
            for (elected, revoked) in [(seconds(1), MS), (MS, seconds(1))] {
                let (world, log) = (World::new(), Log::default());
                let simba = world.simba().await;
                let plan = Plan::default().elected(move |_| sleep(elected)).revoked(move |_| sleep(revoked));
                let (leader, listener) =
                    (Leader::start_with("a", &log, plan), Leader::start("listener", &log));
                let election = simba.election("job").unwrap().start(&leader).await.unwrap();
                election.subscribe(&listener);
                sleep(100 * MS).await;
                let stopping = election.clone();
                let stop = actix::spawn(async move { stopping.stop().await });
                sleep(100 * MS).await;
                crash(&simba, victim.clone()).await;
                timeout(LEASE, stop).await.expect("stop resolves").unwrap();
                assert!(world.is_free("job").await);
                sleep(2 * LEASE).await;
                for who in ["a", "listener"] {
                    assert_eq!(log.told(who), [Did::Elected, Did::Revoked(Reason::Stopped)]);
                }
                world.assert_nothing_left(&simba, "job").await;
            }
        }
    });
}

#[test]
fn a_panic_just_before_an_outage_still_revokes() {
    virtually(async {
        for victim in all("job") {
            let (world, log) = (World::new(), Log::default());
            let simba = world.simba().await;
            let leader = Leader::start("a", &log);
            simba.election("job").unwrap().start(&leader).await.unwrap();
            sleep(RENEW / 2).await;
            world.backend.outage(Behaviour::Never);
            crash(&simba, victim).await;
            sleep(LEASE).await;
            assert_eq!(log.told("a"), [Did::Elected, Did::Revoked(Reason::Deadline)]);
            world.backend.heal();
            eventually("leads again", LEASE + RENEW, || log.count("a", Did::Elected) == 2).await;
        }
    });
}

#[test]
fn a_candidate_outlives_a_panic_and_is_elected() {
    virtually(async {
        for victim in all("job") {
            let (world, log) = (World::new(), Log::default());
            let (a, b) = (world.simba().await, world.simba().await);
            let held = b.lock("job").unwrap().acquire(RENEW).await.unwrap();
            let leader = Leader::start("a", &log);
            let election = a.election("job").unwrap().start(&leader).await.unwrap();
            sleep(RENEW).await;
            crash(&a, victim).await;
            held.release().await.unwrap();
            eventually("leads", LEASE, || log.count("a", Did::Elected) == 1).await;
            election.stop().await;
            world.assert_nothing_left(&a, "job").await;
        }
    });
}

#[test]
fn the_work_of_a_job_outlives_a_panic_and_is_dropped_before_the_release() {
    virtually(async {
        for victim in all("job") {
            let (world, log) = (World::new(), Log::default());
            let (a, b) = (world.simba().await, world.simba().await);
            let work = |term: crate::Term| async move { term.revoked().await };
            let job = a.election("job").unwrap().run_while_leader(move |term| {
                let work = work(term);
                async move {
                    work.await;
                }
            });
            let job = job.await.unwrap();
            let leader = Leader::start("b", &log);
            sleep(100 * MS).await;
            b.election("job").unwrap().start(&leader).await.unwrap();
            crash(&a, victim).await;
            sleep(LEASE).await;
            assert!(job.election().term().is_some_and(|term| term.is_valid()));
            job.stop().await;
            assert_eq!(timeout(RENEW, job.join()).await.expect("it ends"), None);
            eventually("b leads", LEASE, || log.count("b", Did::Elected) == 1).await;
        }
    });
}

#[test]
fn a_lock_and_its_waiters_outlive_a_panic() {
    virtually(async {
        for victim in [Crash::Session, Crash::Backend, Crash::Lock("x".parse().unwrap())] {
            let world = World::new();
            let simba = world.simba().await;
            let lock = simba.lock("x").unwrap();
            let held = lock.acquire(RENEW).await.unwrap();
            let waiters: Vec<_> = (0..3)
                .map(|_| {
                    let lock = lock.clone();
                    actix::spawn(async move { lock.acquire(seconds(60)).await?.release().await })
                })
                .collect();
            sleep(MS).await;
            crash(&simba, victim).await;
            assert!(held.is_valid());
            held.release().await.unwrap();
            for waiter in waiters {
                assert_eq!(timeout(RENEW, waiter).await.expect("served").unwrap(), Ok::<_, LockError>(()));
            }
            world.assert_nothing_left(&simba, "x").await;
        }
    });
}

#[test]
fn a_lock_that_contends_outlives_a_panic_and_is_not_left_behind() {
    virtually(async {
        for give_up in [true, false] {
            let world = World::new();
            let (a, b) = (world.simba().await, world.simba().await);
            let held = b.lock("x").unwrap().acquire(RENEW).await.unwrap();
            let lock = a.lock("x").unwrap();
            let patience = if give_up { RENEW } else { seconds(60) };
            let waiter = actix::spawn(async move { lock.acquire(patience).await });
            sleep(100 * MS).await;
            crash(&a, Crash::Lock("x".parse().unwrap())).await;
            sleep(2 * RENEW).await;
            held.release().await.unwrap();
            let answer = timeout(LEASE, waiter).await.expect("answered").unwrap();
            assert_eq!(answer.is_err(), give_up, "{answer:?}");
            drop(answer);
            world.assert_nothing_left(&a, "x").await;
        }
    });
}

/// It says so twice where a wish is withdrawn: when that is heard of, and when it is settled.
#[test]
fn a_lock_that_says_once_more_that_it_is_idle_takes_nothing_from_its_successor() {
    virtually(async {
        let world = World::new();
        let (a, b) = (world.simba().await, world.simba().await);
        let lock = a.lock("x").unwrap();
        let first = lock.acquire(RENEW).await.unwrap();
        let once_more = a.session_actor().send(IdleOf("x".parse().unwrap())).await.unwrap().unwrap();
        first.release().await.unwrap();
        let held = b.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let waiter = actix::spawn(async move { lock.acquire(RENEW).await });
        sleep(100 * MS).await;
        a.session_actor().do_send(once_more);
        let answer = timeout(LEASE, waiter).await.expect("answered").unwrap();
        assert!(matches!(answer, Err(LockError::Timeout { .. })), "{answer:?}");
        held.release().await.unwrap();
        world.assert_nothing_left(&a, "x").await;
    });
}

#[test]
fn a_release_that_waits_when_the_lock_panics_is_answered() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let held = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        world.backend.next(Op::Release, [Behaviour::Late(500 * MS)]);
        let release = actix::spawn(held.release());
        sleep(100 * MS).await;
        crash(&simba, Crash::Lock("x".parse().unwrap())).await;
        timeout(RENEW, release).await.expect("answered").unwrap().unwrap();
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn r14_close_resolves_although_the_session_actor_panics_meanwhile() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start_with("a", &log, Plan::default().revoked(|_| sleep(seconds(1))));
        simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        let closing = simba.clone();
        let close = actix::spawn(async move { closing.close().await });
        sleep(100 * MS).await;
        crash(&simba, Crash::Session).await;
        timeout(LEASE, close).await.expect("it resolves").unwrap().unwrap();
        assert!(world.is_free("job").await);
    });
}
