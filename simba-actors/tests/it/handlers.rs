//! R16 and R17: handlers that panic, that call Simba themselves, and leaders that are gone.

use std::sync::{Arc, Mutex};

use simba_actors::{Election, Reason, Simba, StartError, supervise};
use tokio::time::sleep;

use crate::fixture::{
    Behaviour, Did, LEASE, Leader, Log, MS, Plan, Quit, RENEW, World, eventually, now, virtually,
};

/// Where a handler finds the election that it serves.
type Slot<T> = Arc<Mutex<Option<T>>>;

fn taken<T: Clone>(slot: &Slot<T>) -> T {
    slot.lock().unwrap().clone().expect("put there before")
}

#[test]
fn r16_a_supervised_leader_that_panics_in_elected_stays_out_for_one_lease() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let (a, b) = (world.simba().await, world.simba().await);
        let plan = Plan::default().elected(panic_once());
        let (seen, factory_plan) = (log.clone(), plan);
        let leader = supervise(move || Leader::new("a", &seen, factory_plan.clone()));
        let election = a.election("job").unwrap().start(&leader).await.unwrap();
        let other = Leader::start("b", &log);
        b.election("other").unwrap().start(&other).await.unwrap();
        eventually("panicked", RENEW, || log.count("a", Did::Revoked(Reason::HandlerFailed)) == 1).await;
        let out_since = now();
        sleep(LEASE - 100 * MS).await;
        assert!(world.is_free("job").await);
        eventually("leads again", RENEW, || log.count("a", Did::Elected) == 2).await;
        assert!(out_since.elapsed() >= LEASE - 50 * MS);
        assert_eq!(log.told("b"), [Did::Elected], "everything else goes on");
        election.stop().await;
        log.assert_alternates("a");
    });
}

/// Panics at the first call.
fn panic_once() -> impl Fn(simba_actors::Term) -> std::future::Ready<()> + Send + Sync {
    let calls = std::sync::atomic::AtomicU32::new(0);
    move |_| {
        let first = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        assert!(!first, "the handler panics, as the test asked");
        std::future::ready(())
    }
}

#[test]
fn r16_a_stock_leader_that_panics_in_elected_ends_its_election() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start_with("a", &log, Plan::default().elected(panic_once()));
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(RENEW).await;
        assert_eq!(log.told("a"), [Did::Elected]);
        assert!(election.term().is_none());
        assert!(world.is_free("job").await);
        let fresh = Leader::start("fresh", &log);
        let again = simba.election("job").unwrap().start(&fresh).await.expect("the name is free again");
        eventually("leads", RENEW, || log.count("fresh", Did::Elected) == 1).await;
        again.stop().await;
    });
}

#[test]
fn r16_a_panic_in_revoked_releases_at_once_and_stays_out() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let (seen, plan) = (log.clone(), Plan::default().revoked(panic_once()));
        let leader = supervise(move || Leader::new("a", &seen, plan.clone()));
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        let asked = now();
        election.step_down(100 * MS).await.unwrap();
        assert!(asked.elapsed() < 10 * MS);
        assert!(world.is_free("job").await);
        eventually("leads again", 2 * LEASE, || log.count("a", Did::Elected) == 2).await;
        assert!(asked.elapsed() >= LEASE - 50 * MS);
        election.stop().await;
        log.assert_alternates("a");
    });
}

#[test]
fn r16_a_leader_that_stops_ends_its_election_and_subscribers_hear_it() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let (leader, listener) = (Leader::start("a", &log), Leader::start("listener", &log));
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        election.subscribe(&listener);
        sleep(100 * MS).await;
        leader.do_send(Quit);
        sleep(RENEW).await;
        assert_eq!(log.told("listener"), [Did::Elected, Did::Revoked(Reason::HandlerGone)]);
        assert!(world.is_free("job").await);
        assert!(election.step_down(RENEW).await.is_err());
        let fresh = Leader::start("fresh", &log);
        simba.election("job").unwrap().start(&fresh).await.expect("the name is free again");
    });
}

#[test]
fn r16_a_leader_whose_last_address_is_dropped_ends_its_election() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start("a", &log);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        drop(leader);
        sleep(RENEW).await;
        assert!(world.is_free("job").await);
        assert!(election.term().is_none());
        assert!(election.step_down(RENEW).await.is_err());
    });
}

#[test]
fn r16_a_candidate_whose_leader_is_gone_ends_too() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let (a, b) = (world.simba().await, world.simba().await);
        let held = a.lock("job").unwrap().acquire(RENEW).await.unwrap();
        let leader = Leader::start("b", &log);
        b.election("job").unwrap().start(&leader).await.unwrap();
        drop(leader);
        sleep(2 * RENEW).await;
        held.release().await.unwrap();
        sleep(2 * LEASE).await;
        assert!(world.is_free("job").await);
        assert!(log.entries().is_empty());
        drop(b.lock("job").unwrap().acquire(RENEW).await.unwrap());
    });
}

#[test]
fn r16_a_leader_restarted_behind_its_address_contends_again() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let seen = log.clone();
        let leader = supervise(move || Leader::new("a", &seen, Plan::default()));
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        leader.do_send(Quit);
        sleep(RENEW).await;
        assert!(election.term().is_some_and(|term| term.is_valid()));
        election.step_down(RENEW).await.unwrap();
        eventually("leads again", LEASE, || log.count("a", Did::Elected) == 2).await;
        log.assert_alternates("a");
    });
}

#[test]
fn r03_a_handler_that_awaits_stop_inside_elected_does_not_deadlock() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let slot: Slot<Election> = Slot::default();
        let inside = slot.clone();
        let plan = Plan::default().elected(move |_| {
            let election = inside.clone();
            async move {
                sleep(10 * MS).await;
                taken(&election).stop().await;
            }
        });
        let leader = Leader::start_with("a", &log, plan);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        *slot.lock().unwrap() = Some(election);
        sleep(LEASE + 100 * MS).await;
        // The handler waits for the stop and the stop for the handler, until the hand-over is due.
        assert_eq!(log.of("a")[..2], [Did::Elected, Did::Revoked(Reason::Stopped)]);
        assert_eq!(log.count("a", Did::Led), 1);
        assert!(world.is_free("job").await);
    });
}

#[test]
fn r03_a_handler_that_awaits_stop_or_step_down_inside_revoked_does_not_deadlock() {
    virtually(async {
        for stop in [true, false] {
            let (world, log) = (World::new(), Log::default());
            let simba = world.simba().await;
            let slot: Slot<Election> = Slot::default();
            let inside = slot.clone();
            let plan = Plan::default().revoked(move |_| {
                let election = taken(&inside);
                async move {
                    if stop {
                        election.stop().await;
                    } else {
                        // An end of the election is as good.
                        let _ = election.step_down(RENEW).await;
                    }
                }
            });
            let leader = Leader::start_with("a", &log, plan);
            let election = simba.election("job").unwrap().start(&leader).await.unwrap();
            *slot.lock().unwrap() = Some(election.clone());
            sleep(100 * MS).await;
            election.step_down(RENEW).await.unwrap();
            sleep(LEASE).await;
            assert_eq!(log.count("a", Did::HandedOver), 1);
            election.stop().await;
            assert!(world.is_free("job").await);
            log.assert_alternates("a");
        }
    });
}

#[test]
fn r17_a_handler_that_awaits_step_down_inside_elected_does_not_deadlock() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let slot: Slot<Election> = Slot::default();
        let inside = slot.clone();
        let plan = Plan::default().elected(move |_| {
            let election = inside.clone();
            async move {
                sleep(10 * MS).await;
                taken(&election).step_down(100 * LEASE).await.unwrap();
            }
        });
        let leader = Leader::start_with("a", &log, plan);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        *slot.lock().unwrap() = Some(election);
        sleep(2 * LEASE).await;
        assert_eq!(log.told("a"), [Did::Elected, Did::Revoked(Reason::SteppedDown)]);
        assert_eq!(log.count("a", Did::Led), 1);
        assert!(world.is_free("job").await);
    });
}

#[test]
fn a_handler_that_takes_a_lock_inside_elected_and_revoked_gets_it() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let takes_lock = |simba: &Simba| {
            let lock = simba.lock("inner").unwrap();
            move |_| {
                let lock = lock.clone();
                async move {
                    let term = lock.acquire(RENEW).await.unwrap();
                    assert!(term.is_valid());
                    term.release().await.unwrap();
                }
            }
        };
        let plan = Plan::default().elected(takes_lock(&simba)).revoked(takes_lock(&simba));
        let leader = Leader::start_with("a", &log, plan);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        let asked = now();
        election.stop().await;
        assert!(asked.elapsed() < 100 * MS, "{:?}", asked.elapsed());
        assert_eq!(log.count("a", Did::Led) + log.count("a", Did::HandedOver), 2);
    });
}

#[test]
fn many_stops_that_wait_for_their_handlers_do_not_shut_the_gate_for_others() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let lock = simba.lock("inner").unwrap();
        let plan = Plan::default().revoked(move |_| {
            let lock = lock.clone();
            async move { lock.acquire(LEASE).await.unwrap().release().await.unwrap() }
        });
        let leader = Leader::start_with("a", &log, plan);
        let mut stops = Vec::new();
        for n in 0..400 {
            let election = simba.election(format!("job-{n}")).unwrap().start(&leader).await.unwrap();
            stops.push(election);
        }
        sleep(RENEW).await;
        let asked = now();
        let stops: Vec<_> = stops.iter().map(Election::stop).collect();
        futures_util::future::join_all(stops).await;
        assert!(asked.elapsed() < 500 * MS, "the stops waited for each other: {:?}", asked.elapsed());
    });
}

#[test]
fn r16_every_error_of_the_storage_leaves_an_election_that_goes_on() {
    use crate::fixture::Op;
    virtually(async {
        let behaviours = [
            Behaviour::Fail,
            Behaviour::FailAfter,
            Behaviour::LoseReply,
            Behaviour::Never,
            Behaviour::Panic,
            Behaviour::Slow(10 * RENEW),
            Behaviour::Late(10 * RENEW),
        ];
        for op in [Op::KeepAlive, Op::Acquire, Op::Release] {
            for behaviour in behaviours {
                let (world, log) = (World::new(), Log::default());
                let simba = world.simba().await;
                world.backend.next(op, [behaviour]);
                let leader = Leader::start("a", &log);
                let election = simba.election("job").unwrap().start(&leader).await.unwrap();
                sleep(2 * LEASE).await;
                election.step_down(RENEW).await.unwrap();
                sleep(3 * LEASE).await;
                log.assert_alternates("a");
                let case = format!("{op:?} {behaviour:?}: {log:?}");
                assert!(election.term().is_some_and(|term| term.is_valid()), "{case}");
                election.stop().await;
                assert!(world.is_free("job").await, "{case}");
            }
        }
    });
}

#[test]
fn r13_the_second_use_of_a_name_is_refused_both_ways() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start("a", &log);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        let refused = simba.election("job").unwrap().start(&leader).await.unwrap_err();
        assert!(matches!(refused, StartError::InUse { .. }));
        assert_eq!(
            refused.to_string(),
            "job cannot be an election: it is in use as an election on this Simba; choose another name"
        );
        let refused = simba.lock("job").unwrap().try_acquire().await.unwrap_err();
        assert!(refused.to_string().contains("in use as an election"), "{refused}");
        election.stop().await;
        let held = simba.lock("job").unwrap().acquire(RENEW).await.unwrap();
        let refused = simba.election("job").unwrap().start(&leader).await.unwrap_err();
        assert!(refused.to_string().contains("in use as a lock"), "{refused}");
        held.release().await.unwrap();
        simba.election("job").unwrap().start(&leader).await.expect("free at once after the release");
    });
}
