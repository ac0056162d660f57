//! What is told about outages, wiped storages, clocks and locks, and in which order.

use std::time::Duration;

use simba_actors::{Events, Reason, SimbaEvent};
use tokio::time::{sleep, timeout};

use crate::fixture::{Behaviour, Did, LEASE, Leader, Log, MS, Op, RENEW, World, eventually, now, virtually};

/// All that has happened so far, one word each.
#[expect(clippy::wildcard_enum_match_arm, reason = "any other event is a failure")]
async fn words(events: &mut Events) -> Vec<&'static str> {
    let mut words = Vec::new();
    while let Ok(Some(event)) = timeout(Duration::ZERO, events.next()).await {
        words.push(match event {
            SimbaEvent::SessionOpened { .. } => "opened",
            SimbaEvent::OpenFailed { .. } | SimbaEvent::RenewFailed { .. } => continue,
            SimbaEvent::Suspended { .. } => "suspended",
            SimbaEvent::Resumed => "resumed",
            SimbaEvent::SessionExpired { .. } => "expired",
            SimbaEvent::Elected { .. } => "elected",
            SimbaEvent::Revoked { .. } => "revoked",
            SimbaEvent::LockAcquired { .. } => "acquired",
            SimbaEvent::LockReleased { reason: Reason::Released, .. } => "unlocked",
            SimbaEvent::LockReleased { .. } => "lost",
            SimbaEvent::Released { .. } => "released",
            SimbaEvent::TokenRegressed { .. } => "regressed",
            SimbaEvent::ClockStep { .. } => "stepped",
            SimbaEvent::AttemptFailed { .. } => "failed",
            SimbaEvent::Closed => "closed",
            SimbaEvent::ActorRestarted { .. } => "restarted",
            other => panic!("{other:?}"),
        });
    }
    words
}

#[test]
fn an_outage_of_half_a_lease_suspends_and_resumes_without_a_revoke() {
    virtually(async {
        for behaviour in [Behaviour::Fail, Behaviour::Never, Behaviour::LoseReply] {
            let (world, log) = (World::new(), Log::default());
            let simba = world.simba().await;
            let leader = Leader::start("a", &log);
            let election = simba.election("job").unwrap().start(&leader).await.unwrap();
            sleep(RENEW / 2).await;
            let mut events = simba.events();
            world.backend.outage(behaviour);
            sleep(LEASE / 2).await;
            world.backend.heal();
            sleep(2 * LEASE).await;
            assert_eq!(words(&mut events).await, ["suspended", "resumed"], "{behaviour:?}");
            assert!(election.term().is_some_and(|term| term.is_valid()));
            assert_eq!(log.told("a"), [Did::Elected]);
        }
    });
}

#[test]
fn an_outage_of_two_leases_revokes_once_and_elects_anew_soon_after() {
    virtually(async {
        for behaviour in [Behaviour::Fail, Behaviour::Never, Behaviour::LoseReply] {
            let (world, log) = (World::new(), Log::default());
            let simba = world.simba().await;
            let leader = Leader::start("a", &log);
            simba.election("job").unwrap().start(&leader).await.unwrap();
            sleep(RENEW / 2).await;
            let mut events = simba.events();
            world.backend.outage(behaviour);
            sleep(2 * LEASE).await;
            assert_eq!(log.told("a"), [Did::Elected, Did::Revoked(Reason::Deadline)], "{behaviour:?}");
            world.backend.heal();
            eventually("elected anew", LEASE + RENEW, || log.count("a", Did::Elected) == 2).await;
            let expected = ["suspended", "revoked", "expired", "opened", "elected"];
            assert_eq!(words(&mut events).await, expected, "{behaviour:?}");
            log.assert_alternates("a");
        }
    });
}

#[test]
fn r19_a_wiped_storage_revokes_and_says_so_before_it_elects() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start("a", &log);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(RENEW / 2).await;
        election.step_down(RENEW).await.unwrap();
        sleep(2 * RENEW).await;
        let mut events = simba.events();
        world.backend.wipe();
        let wiped = now();
        eventually("revoked", RENEW + 100 * MS, || {
            log.of("a").contains(&Did::Revoked(Reason::SessionExpired))
        })
        .await;
        eventually("elected", LEASE, || log.count("a", Did::Elected) == 3).await;
        assert!(wiped.elapsed() <= 2 * RENEW);
        let mut told = words(&mut events).await;
        // The session's news and a term's take different ways.
        told.retain(|word| ["regressed", "elected"].contains(word));
        assert_eq!(told, ["regressed", "elected"]);
        let term = election.term().unwrap();
        assert_eq!(term.token().get(), 1, "what was granted counts, told as an alarm");
    });
}

#[test]
fn r20_a_step_of_the_storages_clock_is_told_once() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        sleep(3 * RENEW).await;
        let mut events = simba.events();
        world.backend.step_clock(Duration::from_secs(3_600));
        sleep(RENEW + 100 * MS).await;
        world.backend.step_clock(Duration::ZERO);
        sleep(3 * RENEW).await;
        assert_eq!(words(&mut events).await, ["stepped"]);
    });
}

#[test]
fn a_lock_is_told_from_its_begin_to_its_end() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let mut events = simba.events();
        let lock = simba.lock("x").unwrap();
        lock.acquire(RENEW).await.unwrap().release().await.unwrap();
        assert_eq!(words(&mut events).await, ["acquired", "unlocked", "released"]);
        let held = lock.acquire(RENEW).await.unwrap();
        world.backend.outage(Behaviour::Fail);
        held.revoked().await;
        sleep(MS).await;
        assert_eq!(words(&mut events).await, ["acquired", "suspended", "lost"]);
        world.backend.heal();
        sleep(2 * LEASE).await;
        words(&mut events).await;
        drop(held);
        simba.close().await.unwrap();
        assert_eq!(words(&mut events).await, ["closed"]);
    });
}

#[test]
fn r12_a_session_that_is_about_to_run_out_does_not_win_and_release_for_ever() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start("a", &log);
        simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(RENEW / 2).await;
        let asked = world.backend.count(Op::Acquire);
        world.backend.always(Op::KeepAlive, Behaviour::Fail);
        sleep(2 * LEASE).await;
        world.backend.heal();
        let asked = world.backend.count(Op::Acquire) - asked;
        assert!(asked <= 3, "{asked} attempts of a session that nobody keeps alive");
        log.assert_alternates("a");
    });
}

#[test]
fn after_a_hundred_flaps_somebody_leads() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let mut candidates = Vec::new();
        for who in ["a", "b", "c"] {
            let backend = world.backend.sibling();
            let simba = world.simba_on(&backend).await;
            let leader = Leader::start(who, &log);
            let election = simba.election("job").unwrap().start(&leader).await.unwrap();
            candidates.push((backend, simba, leader, election));
        }
        let mut seed = 0x5eed_u64;
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let faults = [
            Behaviour::Fail,
            Behaviour::FailAfter,
            Behaviour::LoseReply,
            Behaviour::Never,
            Behaviour::Panic,
            Behaviour::Slow(700 * MS),
            Behaviour::Late(700 * MS),
        ];
        for _ in 0..100 {
            let (backend, ..) = &candidates[draw(3) as usize];
            backend.outage(faults[draw(7) as usize]);
            sleep(Duration::from_millis(draw(5_000))).await;
            backend.heal();
            sleep(Duration::from_millis(draw(2_000))).await;
            let valid = candidates.iter().filter_map(|(.., election)| election.term());
            assert!(valid.filter(|term| term.is_valid()).count() <= 1);
        }
        sleep(2 * LEASE + RENEW).await;
        let leaders =
            candidates.iter().filter(|(.., election)| election.term().is_some_and(|t| t.is_valid()));
        assert_eq!(leaders.count(), 1);
        for (.., election) in &candidates {
            election.stop().await;
        }
        assert!(world.is_free("job").await);
        for who in ["a", "b", "c"] {
            log.assert_alternates(who);
        }
    });
}

#[test]
fn one_keep_alive_a_renew_whatever_the_number_of_leases() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let mut jobs = Vec::new();
        for n in 0..2_000 {
            let job = simba
                .election(format!("job-{n}"))
                .unwrap()
                .run_while_leader(|_| std::future::pending::<()>());
            jobs.push(job.await.unwrap());
        }
        sleep(RENEW / 2).await;
        assert!(jobs.iter().all(|job| job.election().term().is_some()));
        let before = world.backend.count(Op::KeepAlive);
        sleep(10 * RENEW).await;
        assert_eq!(world.backend.count(Op::KeepAlive) - before, 10);
        let calls = world.backend.calls(Op::KeepAlive);
        assert!(calls.windows(2).all(|pair| pair[1].at - pair[0].at <= RENEW + 2 * MS), "{calls:?}");
        let asked: usize = world.backend.count(Op::Acquire);
        assert!(asked <= 2_000, "{asked} acquire calls");
    });
}
