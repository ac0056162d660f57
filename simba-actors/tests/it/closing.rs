//! R14 and R21: the end of a Simba, wanted or not.

use std::{future::pending, sync::Arc, time::Duration};

use actix::System;
use simba_actors::{
    ConnectError, LockError, ObserveError, Reason, Simba, SimbaConfig, SimbaEvent, StartError,
    backends::memory::MemoryBackend,
};
use tokio::time::{sleep, timeout};

use crate::fixture::{
    Behaviour, Did, LEASE, Leader, Log, MS, Op, Plan, RENEW, World, eventually, now, seconds, virtually,
};

async fn assert_closed(simba: &Simba) {
    let log = Log::default();
    let leader = Leader::start("late", &log);
    let start = simba.election("late").unwrap().start(&leader).await;
    assert!(matches!(start, Err(StartError::Closed)), "{start:?}");
    let job = simba.election("late").unwrap().run_while_leader(|_| async {}).await;
    assert!(matches!(job, Err(StartError::Closed)));
    let asked = now();
    let lock = simba.lock("late").unwrap();
    assert!(matches!(lock.acquire(RENEW).await, Err(LockError::Closed)));
    assert!(matches!(lock.try_acquire().await, Err(LockError::Closed)));
    assert!(matches!(lock.with(RENEW, async |_| ()).await, Err(LockError::Closed)));
    assert!(matches!(lock.holder().await, Err(ObserveError::Closed)));
    assert!(matches!(simba.election("late").unwrap().leader().await, Err(ObserveError::Closed)));
    assert!(asked.elapsed() < 10 * MS);
    simba.close().await.expect("a second close is fine");
}

#[test]
fn r14_close_hands_over_frees_everything_and_shuts_the_door() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let mut events = simba.events();
        let leader = Leader::start_with("a", &log, Plan::default().revoked(|_| sleep(300 * MS)));
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        let held = simba.lock("held").unwrap().acquire(RENEW).await.unwrap();
        let waiting = simba.lock("held").unwrap();
        let waiter = actix::spawn(async move { waiting.acquire(seconds(600)).await });
        sleep(100 * MS).await;
        let (asked, closing) = (now(), simba.clone());
        let close = actix::spawn(async move { closing.close().await });
        sleep(200 * MS).await;
        assert!(matches!(waiter.await.unwrap(), Err(LockError::Closed)), "told at once");
        assert_eq!((held.is_valid(), held.reason()), (false, Some(Reason::Closed)));
        assert!(!world.is_free("held").await, "waits for the holder's drop");
        drop(held);
        close.await.unwrap().unwrap();
        assert_eq!(asked.elapsed(), 300 * MS);
        assert!(world.is_free("job").await && world.is_free("held").await);
        assert_eq!(world.backend.count(Op::Close), 1);
        assert_eq!(log.told("a"), [Did::Elected, Did::Revoked(Reason::Closed)]);
        assert!(election.step_down(RENEW).await.is_err());
        election.stop().await;
        assert!(election.leader().await.is_err());
        assert_closed(&simba).await;
        let mut last = None;
        while let Some(event) = events.next().await {
            last = Some(event);
        }
        assert_eq!(last, Some(SimbaEvent::Closed));
    });
}

#[test]
fn r14_close_waits_for_a_forgotten_lock_only_until_its_hand_over_is_due() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let held = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let (asked, left) = (now(), held.remaining());
        simba.close().await.unwrap();
        assert!(asked.elapsed() <= left + RENEW);
        assert!(world.is_free("x").await);
        assert!(matches!(held.release().await, Err(LockError::Lost { reason: Reason::Closed, .. })));
    });
}

#[test]
fn r14_close_without_an_answer_is_bounded_and_names_what_is_left() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        // Gives up before the session has run out in any case.
        let brief = SimbaConfig::builder().lease(LEASE).renew(RENEW).call_timeout(40 * MS).build().unwrap();
        let builder = Simba::builder().backend(Arc::new(world.backend.clone())).config(brief);
        let simba = builder.on_this_thread().connect().await.unwrap();
        let leader = Leader::start_with("a", &log, Plan::default().revoked(|_| pending()));
        simba.election("job").unwrap().start(&leader).await.unwrap();
        let held = simba.lock("held").unwrap().acquire(RENEW).await.unwrap();
        world.backend.outage(Behaviour::Never);
        let (asked, left) = (now(), held.remaining());
        let error = simba.close().await.unwrap_err();
        assert!(asked.elapsed() <= left + RENEW + MS, "{:?} of {left:?}", asked.elapsed());
        let names: Vec<_> = error.unfreed().iter().map(|name| name.as_str()).collect();
        assert_eq!(names, ["held", "job"]);
        assert!(error.free_in().is_some_and(|free_in| free_in <= LEASE + LEASE / 100));
        assert!(error.to_string().contains("held, job"), "{error}");
        log.assert_alternates("a");
        assert_eq!(simba.close().await.unwrap_err(), error, "the second close tells the same");
        sleep(LEASE).await;
        assert!(world.is_free("job").await && world.is_free("held").await);
    });
}

#[test]
fn r14_close_waits_for_calls_in_flight_and_frees_what_they_won() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        world.backend.always(Op::Acquire, Behaviour::Late(500 * MS));
        let lock = simba.lock("x").unwrap();
        let waiter = actix::spawn(async move { lock.acquire(LEASE).await });
        sleep(100 * MS).await;
        let asked = now();
        simba.close().await.unwrap();
        assert!(asked.elapsed() <= RENEW);
        assert!(matches!(waiter.await.unwrap(), Err(LockError::Closed)));
        assert!(world.is_free("x").await);
    });
}

#[test]
fn r14_dropping_the_last_simba_frees_its_leases() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start("a", &log);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        let lock = simba.lock("x").unwrap();
        drop(lock.acquire(RENEW).await.unwrap());
        let clone = simba.clone();
        drop(simba);
        sleep(RENEW).await;
        assert!(election.term().is_some_and(|term| term.is_valid()), "a clone is left");
        drop(clone);
        sleep(MS).await;
        assert!(world.is_free("job").await);
        assert_eq!(log.told("a"), [Did::Elected, Did::Revoked(Reason::Closed)]);
        assert!(matches!(lock.acquire(RENEW).await, Err(LockError::Closed)));
        assert_eq!(world.backend.count(Op::Close), 1);
    });
}

#[test]
fn r14_a_session_that_opens_too_late_for_connect_is_closed() {
    virtually(async {
        let world = World::new();
        world.backend.always(Op::Open, Behaviour::Late(RENEW + 500 * MS));
        let builder = Simba::builder().backend(Arc::new(world.backend.clone())).config(World::config());
        let asked = now();
        let refused = builder.on_this_thread().connect().await.unwrap_err();
        assert!(asked.elapsed() <= RENEW + MS);
        assert!(refused.to_string().contains("did not answer within 1000 ms"), "{refused}");
        sleep(2 * LEASE).await;
        let _ = refused;
        assert_eq!((world.backend.count(Op::Open), world.backend.count(Op::KeepAlive)), (1, 0));
    });
}

#[test]
fn connect_fails_at_once_where_the_storage_refuses() {
    virtually(async {
        let world = World::new();
        world.backend.always(Op::Open, Behaviour::Fail);
        let builder = Simba::builder().backend(Arc::new(world.backend.clone())).config(World::config());
        let refused = builder.on_this_thread().connect().await.unwrap_err();
        assert!(matches!(refused, ConnectError::Backend(_)), "{refused}");
        sleep(10 * LEASE).await;
        assert_eq!(world.backend.count(Op::Open), 1, "nobody is left to try again");
    });
}

#[test]
fn r21_a_dead_keeper_ends_every_term_and_closes() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let (leader, listener) = (Leader::start("a", &log), Leader::start("listener", &log));
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        election.subscribe(&listener);
        let held = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let waiting = simba.lock("x").unwrap();
        let waiter = actix::spawn(async move { waiting.acquire(seconds(600)).await });
        sleep(100 * MS).await;
        let term = election.term().unwrap();
        world.backend.panic_in_hints();
        assert_eq!(timeout(RENEW, term.revoked()).await, Ok(Reason::Closed));
        assert_eq!(timeout(RENEW, held.revoked()).await, Ok(Reason::Closed));
        sleep(MS).await;
        assert!(!term.is_valid() && !held.is_valid());
        for who in ["a", "listener"] {
            assert_eq!(log.told(who), [Did::Elected, Did::Revoked(Reason::Closed)]);
        }
        assert!(matches!(waiter.await.unwrap(), Err(LockError::Closed)));
        assert!(matches!(held.release().await, Err(LockError::Lost { reason: Reason::Closed, .. })));
        assert!(election.step_down(RENEW).await.is_err());
        election.stop().await;
        assert_closed(&simba).await;
        sleep(LEASE).await;
        assert!(world.is_free("job").await);
    });
}

#[test]
fn r21_a_keeper_that_dies_during_a_hand_over_revokes_once() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let mut events = simba.events();
        let leader = Leader::start_with("a", &log, Plan::default().elected(|_| sleep(seconds(2))));
        let listener = Leader::start("listener", &log);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        election.subscribe(&listener);
        sleep(100 * MS).await;
        let stop = actix::spawn(async move { election.stop().await });
        sleep(100 * MS).await;
        world.backend.panic_in_hints();
        timeout(RENEW, stop).await.expect("stop resolves").unwrap();
        sleep(seconds(5)).await;
        for who in ["a", "listener"] {
            assert_eq!(log.told(who), [Did::Elected, Did::Revoked(Reason::Stopped)]);
        }
        let mut revoked = 0;
        while let Some(event) = events.next().await {
            revoked += u32::from(matches!(event, SimbaEvent::Revoked { .. }));
        }
        assert_eq!(revoked, 1);
    });
}

#[test]
fn r21_a_keeper_that_dies_while_closing_lets_close_resolve() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let held = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let closing = simba.clone();
        let close = actix::spawn(async move { closing.close().await });
        sleep(100 * MS).await;
        world.backend.panic_in_hints();
        let closed = timeout(RENEW, close).await.expect("it resolves").unwrap();
        drop((closed, held));
        assert_closed(&simba).await;
    });
}

#[test]
fn r21_the_end_of_the_users_system_ends_its_leaders_and_nothing_else() {
    let backend = MemoryBackend::new();
    let config = World::config();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let connect = Simba::builder().backend(Arc::new(backend)).config(config).connect();
    let simba = runtime.block_on(connect).unwrap();
    let log = Log::default();
    let job = runtime.block_on(async {
        simba.election("job").unwrap().run_while_leader(|_| pending::<()>()).await.unwrap()
    });
    let (of_system, seen) = (simba.clone(), log.clone());
    let runner = System::new();
    let election = runner.block_on(async move {
        let leader = Leader::start("a", &seen);
        let election = of_system.election("led").unwrap().start(&leader).await.unwrap();
        eventually("leads", seconds(10), || seen.count("a", Did::Elected) == 1).await;
        System::current().stop();
        std::mem::forget(leader);
        election
    });
    runner.run().unwrap();
    runtime.block_on(async {
        eventually("its election has ended", seconds(10), || election.term().is_none()).await;
        assert!(job.election().term().is_some_and(|term| term.is_valid()));
        let free = async {
            while simba.lock("led").unwrap().try_acquire().await.ok().flatten().is_none() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(seconds(10), free).await.expect("the name is free");
        simba.close().await.unwrap();
    });
}
