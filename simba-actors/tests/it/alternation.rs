//! R3 and R4: `Elected` and `Revoked` alternate, and a release waits for the handlers as long as it may.

use std::time::Duration;

use simba_actors::{Reason, Term};
use tokio::time::sleep;

use crate::fixture::{
    Behaviour, Did, LEASE, Leader, Log, MS, Op, Plan, RENEW, World, eventually, now, seconds, turns,
    virtually,
};

fn slow(time: Duration) -> impl Fn(Term) -> tokio::time::Sleep + Send + Sync {
    move |_| sleep(time)
}

#[test]
fn r03_two_candidates_alternate_through_step_downs_and_outages() {
    virtually(async {
        let world = World::new();
        let (a, b) = (world.simba().await, world.simba_on(&world.backend.sibling()).await);
        let log = Log::default();
        let (first, second) = (Leader::start("a", &log), Leader::start("b", &log));
        let elections = [
            a.election("job").unwrap().start(&first).await.unwrap(),
            b.election("job").unwrap().start(&second).await.unwrap(),
        ];
        for round in 0..10 {
            sleep(seconds(2)).await;
            for election in elections.iter().filter(|election| election.term().is_some()) {
                election.step_down(RENEW).await.unwrap();
            }
            if round % 3 == 0 {
                world.backend.outage(Behaviour::Never);
                sleep(2 * LEASE).await;
                world.backend.heal();
            }
        }
        a.close().await.unwrap();
        b.close().await.unwrap();
        log.assert_alternates("a");
        log.assert_alternates("b");
        assert!(log.count("a", Did::Elected) >= 2 && log.count("b", Did::Elected) >= 2, "{log:?}");
    });
}

#[test]
fn r03_deliberate_end_waits_for_the_elected_handler() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start_with("a", &log, Plan::default().elected(slow(500 * MS)));
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        let term = election.term().unwrap();
        election.stop().await;
        assert_eq!(term.reason(), Some(Reason::Stopped));
        assert_eq!(log.of("a"), [Did::Elected, Did::Led, Did::Revoked(Reason::Stopped), Did::HandedOver]);
        assert_eq!(log.when("a", Did::Led), log.when("a", Did::Revoked(Reason::Stopped)));
        assert!(world.is_free("job").await);
    });
}

#[test]
fn r03_forced_end_does_not_wait_for_the_elected_handler() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start_with("a", &log, Plan::default().elected(slow(seconds(60))));
        let _election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        world.backend.outage(Behaviour::Never);
        let since = now();
        sleep(LEASE).await;
        assert_eq!(log.of("a"), [Did::Elected, Did::Revoked(Reason::Deadline), Did::HandedOver]);
        assert!(log.when("a", Did::Revoked(Reason::Deadline)) - since <= LEASE);
    });
}

#[test]
fn r04_the_other_is_elected_once_the_revoked_handler_has_resolved() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let (a, b) = (world.simba().await, world.simba().await);
        let first = Leader::start_with("a", &log, Plan::default().revoked(slow(500 * MS)));
        let second = Leader::start("b", &log);
        let election = a.election("job").unwrap().start(&first).await.unwrap();
        sleep(100 * MS).await;
        b.election("job").unwrap().start(&second).await.unwrap();
        sleep(5 * RENEW).await;
        let asked = now();
        election.stop().await;
        eventually("b leads", RENEW, || log.count("b", Did::Elected) == 1).await;
        assert_eq!(log.when("a", Did::Revoked(Reason::Stopped)), asked);
        assert_eq!(log.when("a", Did::HandedOver) - asked, 500 * MS);
        let waited = log.when("b", Did::Elected) - asked;
        assert!(waited >= 500 * MS && waited < 550 * MS, "{waited:?}");
    });
}

#[test]
fn r04_a_revoked_handler_that_never_resolves_delays_until_the_hand_over_is_due() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let (a, b) = (world.simba().await, world.simba().await);
        let first = Leader::start_with("a", &log, Plan::default().revoked(|_| std::future::pending()));
        let second = Leader::start("b", &log);
        let election = a.election("job").unwrap().start(&first).await.unwrap();
        sleep(100 * MS).await;
        b.election("job").unwrap().start(&second).await.unwrap();
        sleep(5 * RENEW).await;
        let (term, asked) = (election.term().unwrap(), now());
        let left = term.remaining();
        election.stop().await;
        assert_eq!(term.hand_over_remaining(), Duration::ZERO);
        assert!(asked.elapsed() <= left + MS, "{:?} of {left:?}", asked.elapsed());
        assert!(asked.elapsed() + MS >= left);
        eventually("b leads", RENEW, || log.count("b", Did::Elected) == 1).await;
        assert!(log.when("b", Did::Elected) - asked <= left + 50 * MS);
        log.assert_alternates("a");
    });
}

#[test]
fn r04_an_elected_handler_that_never_resolves_is_revoked_when_the_hand_over_is_due() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start_with("a", &log, Plan::default().elected(|_| std::future::pending()));
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        let (left, asked) = (election.term().unwrap().remaining(), now());
        election.stop().await;
        sleep(MS).await;
        assert!(asked.elapsed() <= left + 2 * MS);
        assert_eq!(log.told("a"), [Did::Elected, Did::Revoked(Reason::Stopped)]);
        assert!(world.is_free("job").await);
    });
}

#[test]
fn r03_nothing_is_sent_after_stop_has_resolved() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        for delay in [0, 1, 5, 50, 200] {
            world.backend.always(Op::Acquire, Behaviour::Late(20 * MS));
            let leader = Leader::start("a", &log);
            let election = simba.election("job").unwrap().start(&leader).await.unwrap();
            sleep(delay * MS).await;
            election.stop().await;
            let told = log.entries().len();
            sleep(3 * LEASE).await;
            assert_eq!(log.entries().len(), told, "told after stop: {log:?}");
            assert!(world.is_free("job").await);
            log.assert_alternates("a");
        }
    });
}

#[test]
fn r03_stop_right_behind_a_step_down_of_no_time_lets_nothing_slip_through() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start("a", &log);
        for yields in 0..40 {
            let election = simba.election("job").unwrap().start(&leader).await.unwrap();
            sleep(10 * MS).await;
            let stepping = election.clone();
            let step_down = actix::spawn(async move { stepping.step_down(Duration::ZERO).await });
            // In a task of its own, which gets its turn between any two of Simba's.
            let seen = log.clone();
            let stop = async move {
                turns(yields).await;
                election.stop().await;
                seen.entries().len()
            };
            let told = actix::spawn(stop).await.unwrap();
            sleep(10 * MS).await;
            assert_eq!(log.entries().len(), told, "told after stop, {yields} yields: {log:?}");
            log.assert_alternates("a");
            // Either it took place or the election was over; both are fine.
            let _ = step_down.await.unwrap();
            assert!(world.is_free("job").await);
        }
    });
}

#[test]
fn r17_step_down_stays_out_and_resolves_with_the_release() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start("a", &log);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        election.step_down(3 * LEASE).await.unwrap();
        assert!(world.is_free("job").await);
        let out_since = now();
        eventually("leads again", 4 * LEASE, || log.count("a", Did::Elected) == 2).await;
        assert!(log.when("a", Did::Elected) - out_since >= 3 * LEASE - MS);
        assert_eq!(log.told("a")[1], Did::Revoked(Reason::SteppedDown));
    });
}

#[test]
fn r17_step_down_of_a_candidate_resolves_at_once_and_stays_out() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let (a, b) = (world.simba().await, world.simba().await);
        let held = a.lock("job").unwrap().acquire(RENEW).await.unwrap();
        let leader = Leader::start("b", &log);
        let election = b.election("job").unwrap().start(&leader).await.unwrap();
        sleep(RENEW).await;
        let asked = now();
        election.step_down(2 * LEASE).await.unwrap();
        assert!(asked.elapsed() < 10 * MS);
        held.release().await.unwrap();
        sleep(2 * LEASE - 100 * MS).await;
        assert_eq!(log.count("b", Did::Elected), 0);
        eventually("leads", RENEW, || log.count("b", Did::Elected) == 1).await;
    });
}

#[test]
fn subscribers_hear_a_running_term_at_once_and_delay_no_release() {
    virtually(async {
        let (world, log) = (World::new(), Log::default());
        let simba = world.simba().await;
        let leader = Leader::start("leader", &log);
        let election = simba.election("job").unwrap().start(&leader).await.unwrap();
        sleep(100 * MS).await;
        let stuck = Leader::start_with("stuck", &log, Plan::default().revoked(|_| std::future::pending()));
        let brief = Leader::start("brief", &log);
        election.subscribe(&stuck);
        election.subscribe(&brief);
        sleep(MS).await;
        assert_eq!((log.count("stuck", Did::Elected), log.count("brief", Did::Elected)), (1, 1));
        drop(brief);
        let asked = now();
        election.step_down(RENEW).await.unwrap();
        assert!(asked.elapsed() < 10 * MS, "a subscriber delays: {:?}", asked.elapsed());
        sleep(2 * RENEW).await;
        election.stop().await;
        for who in ["leader", "stuck"] {
            assert_eq!(log.told(who).len(), 4, "{log:?}");
            log.assert_alternates(who);
        }
        assert_eq!(log.told("brief").len(), 1);
    });
}
