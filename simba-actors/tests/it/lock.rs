//! Locks: first come, first served here, one contender for all at the storage, released whatever happens.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::join_all;
use simba_actors::{LockError, LockTerm, Reason, Simba, Term, backends::ErrorKind};
use tokio::time::{sleep, timeout};

use crate::fixture::{Behaviour, LEASE, MS, Op, RENEW, World, end_of, now, seconds, turns, virtually};

/// Ambiguous, and so a compile error, if `T` is `Clone`.
trait AmbiguousIfClone<A> {
    fn holds() {}
}
impl<T: ?Sized> AmbiguousIfClone<()> for T {}
struct Cloneable;
impl<T: Clone> AmbiguousIfClone<Cloneable> for T {}

#[test]
fn a_lock_term_is_not_clone_and_crosses_threads() {
    <LockTerm as AmbiguousIfClone<_>>::holds();
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<(LockTerm, Simba, Term)>();
}

#[test]
fn local_waiters_are_served_in_order_and_one_contends_for_all() {
    virtually(async {
        let world = World::new();
        let (simba, other) = (world.simba().await, world.simba_on(&world.backend.sibling()).await);
        let held = other.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let waiter = |n: u64| {
            let (lock, order) = (simba.lock("x").unwrap(), order.clone());
            async move {
                sleep(n as u32 * MS).await;
                let term = lock.acquire(seconds(600)).await.unwrap();
                order.lock().unwrap().push(n);
                sleep(10 * MS).await;
                term.release().await.unwrap();
            }
        };
        let waiters = actix::spawn(join_all((0..50).map(waiter)));
        sleep(seconds(60)).await;
        let asked = world.backend.count(Op::Acquire);
        assert!(asked <= 130, "each of 50 contends: {asked} calls in a minute");
        assert!(world.backend.calls(Op::Acquire).iter().all(|call| call.names == 1));
        held.release().await.unwrap();
        waiters.await.unwrap();
        assert_eq!(*order.lock().unwrap(), (0..50).collect::<Vec<_>>());
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn try_acquire_is_none_while_held_here_there_or_waited_for() {
    virtually(async {
        let world = World::new();
        let (a, b) = (world.simba().await, world.simba().await);
        let (here, there) = (a.lock("x").unwrap(), b.lock("x").unwrap());
        let held = here.try_acquire().await.unwrap().expect("free");
        assert!(here.try_acquire().await.unwrap().is_none());
        assert!(there.try_acquire().await.unwrap().is_none());
        let waiting = there.clone();
        let waiter = actix::spawn(async move { waiting.acquire(seconds(60)).await });
        sleep(MS).await;
        assert!(there.try_acquire().await.unwrap().is_none());
        held.release().await.unwrap();
        let term = waiter.await.unwrap().unwrap();
        assert_eq!(there.holder().await.unwrap().map(|holder| holder.token), Some(term.token()));
        drop(term);
        sleep(MS).await;
        let again = there.try_acquire().await.unwrap().expect("free");
        drop(again);
        world.assert_nothing_left(&b, "x").await;
    });
}

#[test]
fn one_waiter_too_many_is_refused_and_takes_a_place_that_is_given_up() {
    const MOST: usize = 65_536;
    virtually(async {
        let world = World::new();
        let (a, b) = (world.simba().await, world.simba().await);
        let held = a.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let lock = b.lock("x").unwrap();
        let waiter = || {
            let lock = lock.clone();
            actix::spawn(async move { lock.acquire(seconds(600)).await.map(drop) })
        };
        let waiters: Vec<_> = (0..MOST).map(|_| waiter()).collect();
        sleep(MS).await;
        let refused = lock.acquire(RENEW).await.unwrap_err();
        assert!(matches!(refused, LockError::TooManyWaiters { waiting: MOST, .. }), "{refused}");
        waiters[MOST / 2].abort();
        sleep(MS).await;
        assert!(matches!(lock.acquire(10 * MS).await, Err(LockError::Timeout { .. })));
        waiters.iter().for_each(|waiter| waiter.abort());
        drop(held);
        world.assert_nothing_left(&b, "x").await;
    });
}

#[test]
fn a_time_out_carries_the_last_error() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        world.backend.always(Op::Acquire, Behaviour::Fail);
        let asked = now();
        let refused = simba.lock("x").unwrap().acquire(2 * RENEW).await.unwrap_err();
        assert_eq!(asked.elapsed(), 2 * RENEW);
        let text = "the lock x was not acquired within 2s; the last attempt failed: refused by the test";
        assert_eq!(refused.to_string(), text);
        assert!(matches!(refused, LockError::Timeout { waited, .. } if waited == 2 * RENEW));
        let refused = simba.lock("x").unwrap().try_acquire().await.unwrap_err();
        assert!(
            matches!(refused, LockError::Backend { source, .. } if source.kind() == ErrorKind::Unavailable)
        );
        world.backend.heal();
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn a_time_out_while_another_holds_it_carries_no_error() {
    virtually(async {
        let world = World::new();
        let (a, b) = (world.simba().await, world.simba().await);
        let _held = a.lock("x").unwrap().acquire(RENEW).await.unwrap();
        // Nor that of an earlier attempt.
        world.backend.next(Op::Acquire, [Behaviour::Fail]);
        let refused = b.lock("x").unwrap().acquire(2 * RENEW).await.unwrap_err();
        assert_eq!(refused.to_string(), "the lock x was not acquired within 2s");
    });
}

#[test]
fn a_time_out_carries_no_error_from_before_the_last_answer() {
    virtually(async {
        let world = World::new();
        let (a, b) = (world.simba().await, world.simba().await);
        let _held = a.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let lock = b.lock("x").unwrap();
        // Somebody waits all the time, so the lock is never idle.
        let (waiting, refused) = tokio::join!(lock.acquire(10 * RENEW), async {
            world.backend.always(Op::Acquire, Behaviour::Fail);
            lock.acquire(2 * RENEW).await.unwrap_err();
            world.backend.heal();
            lock.acquire(4 * RENEW).await.unwrap_err()
        });
        assert_eq!(refused.to_string(), "the lock x was not acquired within 4s");
        waiting.unwrap_err();
    });
}

#[test]
fn a_driver_that_panics_when_asked_for_the_holder_is_no_close() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let lock = simba.lock("x").unwrap();
        world.backend.next(Op::Inspect, [Behaviour::Panic]);
        let refused = lock.holder().await.unwrap_err();
        assert!(refused.to_string().contains("driver panicked"), "{refused}");
        assert_eq!(lock.holder().await, Ok(None));
    });
}

#[test]
fn try_acquire_without_an_answer_is_bounded() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        world.backend.outage(Behaviour::Never);
        let asked = now();
        let refused = simba.lock("x").unwrap().try_acquire().await.unwrap_err();
        assert!(asked.elapsed() <= 2 * RENEW, "{:?}", asked.elapsed());
        assert!(refused.to_string().contains("did not answer"), "{refused}");
    });
}

#[test]
fn release_resolves_when_the_storage_has_confirmed() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let term = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        world.backend.next(Op::Release, [Behaviour::Slow(300 * MS)]);
        let asked = now();
        term.release().await.unwrap();
        assert_eq!(asked.elapsed(), 300 * MS);
        assert!(world.is_free("x").await);
    });
}

#[test]
fn release_is_bounded_when_the_storage_never_answers() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let term = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        world.backend.outage(Behaviour::Never);
        let asked = now();
        // Whether the storage has heard of it is not known; the time is bounded all the same.
        let _ = term.release().await;
        assert!(asked.elapsed() <= LEASE, "{:?}", asked.elapsed());
        world.backend.heal();
        sleep(2 * LEASE).await;
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn a_lock_dropped_on_a_plain_thread_is_released() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let term = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        std::thread::scope(|scope| drop(scope.spawn(move || drop(term)).join()));
        sleep(MS).await;
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn a_lock_dropped_with_its_runtime_is_released() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let term = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.spawn(async move {
            let _held = term;
            std::future::pending::<()>().await;
        });
        end_of(runtime);
        sleep(MS).await;
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn a_lock_dropped_by_a_panic_is_released() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let term = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let work = actix::spawn(async move {
            let _held = term;
            panic!("the work panics, as the test asked");
        });
        assert!(work.await.is_err());
        sleep(MS).await;
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn r15_a_lock_raced_against_timers_is_never_left_behind() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        world.backend.always(Op::Acquire, Behaviour::Late(20 * MS));
        for patience in 0..40 {
            let lock = simba.lock("x").unwrap();
            // Both won and lost races are wanted.
            let _ = timeout(patience * MS, lock.acquire(RENEW)).await;
            tokio::select! {
                biased;
                _ = lock.acquire(RENEW) => {}
                () = sleep(patience * MS) => {}
            }
        }
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn r05_a_grant_for_who_gave_up_never_reaches_the_next_waiter_as_a_dead_term() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let lock = simba.lock("x").unwrap();
        for early in 0..60 {
            world.backend.next(Op::Acquire, [Behaviour::Late(5 * MS)]);
            let first = actix::spawn({
                let lock = lock.clone();
                async move {
                    let mut asking = Box::pin(lock.acquire(RENEW));
                    // The grant comes in the same moment.
                    let _ = timeout(5 * MS, &mut asking).await;
                    turns(early).await;
                    drop(asking);
                    lock.acquire(RENEW).await
                }
            });
            let term = first.await.unwrap().unwrap();
            turns(40).await;
            assert!(term.is_valid(), "{early} turns: {term:?}");
            term.release().await.unwrap();
        }
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn with_tells_that_the_lock_was_lost() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let lock = simba.lock("x").unwrap();
        assert_eq!(lock.with(RENEW, async |term: &Term| term.token().get()).await, Ok(1));
        let backend = world.backend.clone();
        let lost = lock.with(RENEW, async |_: &Term| {
            backend.outage(Behaviour::Never);
            std::future::pending::<()>().await;
        });
        let lost = lost.await.unwrap_err();
        assert!(matches!(lost, LockError::Lost { reason: Reason::Deadline, .. }), "{lost}");
        assert_eq!(lost.to_string(), "the lock x was lost: deadline");
        world.backend.heal();
        sleep(2 * LEASE).await;
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn a_lost_lock_is_not_acquired_again() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let term = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
        world.backend.outage(Behaviour::Never);
        assert_eq!(timeout(LEASE, term.revoked()).await, Ok(Reason::Deadline));
        world.backend.heal();
        sleep(5 * LEASE).await;
        assert!(world.is_free("x").await);
        assert!(matches!(term.release().await, Err(LockError::Lost { reason: Reason::Deadline, .. })));
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn the_next_local_waiter_follows_a_holder_that_lost_the_lock() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        let lock = simba.lock("x").unwrap();
        let term = lock.acquire(RENEW).await.unwrap();
        world.backend.outage(Behaviour::Never);
        let next = actix::spawn(async move { lock.acquire(seconds(60)).await });
        sleep(2 * LEASE).await;
        assert!(!term.is_valid());
        world.backend.heal();
        let next = timeout(LEASE + RENEW, next).await.expect("in time").unwrap().unwrap();
        assert!(next.is_valid() && next.token() > term.token());
        drop(term);
        sleep(RENEW).await;
        assert!(next.is_valid(), "the late drop of the lost term released the next one's");
    });
}

#[test]
fn ten_thousand_acquires_and_releases_leave_nothing() {
    virtually(async {
        let world = World::new();
        let simba = world.simba().await;
        for _ in 0..10_000 {
            let term = simba.lock("x").unwrap().acquire(RENEW).await.unwrap();
            term.release().await.unwrap();
        }
        sleep(3 * RENEW).await;
        world.assert_nothing_left(&simba, "x").await;
    });
}

#[test]
fn without_hints_a_waiter_is_served_within_its_pace() {
    virtually(async {
        let world = World::new();
        let (a, b) = (world.simba().await, world.simba_on(&world.backend.sibling().without_hints()).await);
        let held = a.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let waiting = b.lock("x").unwrap();
        let next = actix::spawn(async move { waiting.acquire(seconds(60)).await.map(|term| (term, now())) });
        sleep(5 * RENEW).await;
        let released = now();
        held.release().await.unwrap();
        let (_term, at) = next.await.unwrap().unwrap();
        assert!(at - released <= RENEW + 10 * MS, "half a renew and its jitter: {:?}", at - released);
    });
}

#[test]
fn a_dropped_lock_is_free_for_others_within_one_call() {
    virtually(async {
        let world = World::new();
        let (a, b) = (world.simba().await, world.simba().await);
        let held = a.lock("x").unwrap().acquire(RENEW).await.unwrap();
        let waiting = b.lock("x").unwrap();
        let next = actix::spawn(async move { waiting.acquire(seconds(60)).await.map(|term| (term, now())) });
        sleep(5 * RENEW).await;
        let dropped = now();
        drop(held);
        let (term, at) = next.await.unwrap().unwrap();
        assert!(at - dropped < 10 * MS && term.is_valid(), "{:?}", at - dropped);
        assert!(term.ensure_valid(Duration::from_secs(600)).is_err());
    });
}
