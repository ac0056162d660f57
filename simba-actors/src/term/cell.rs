//! Until when a term is valid: one number that every thread reads without a lock.
//!
//! **Validity falls once.** The deadline is extended by the keeper while other threads compare it with
//! their clocks. With a plain store a reader could see the term invalid, then valid again:
//!
//! ```text
//!            deadline = 100
//!   keeper   now = 99, answer handled ........... stores 200
//!   reader              clock = 101: "false" ....            clock = 102 < 200: "true"   (wrong)
//! ```
//!
//! So whoever finds the deadline passed *latches* it: a compare-exchange from the deadline it read to
//! [`ENDED`]. The keeper extends by a compare-exchange too, from a deadline that has not passed. One of
//! the two wins:
//!
//! ```text
//!   reader latches first    100 -> ENDED    the keeper's exchange fails: Lapsed, the term has ended
//!   keeper extends first    100 -> 200      the reader's exchange fails, it looks again: true
//! ```
//!
//! Nothing leaves [`ENDED`]. Whoever brings the number there, and nobody else, gives the reason.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::sync::SetOnce;

use crate::{
    clock::Clock,
    engine::{Instant, Reason},
};

/// No deadline is here: a term of a clock that shows zero would not be valid either.
const ENDED: u64 = 0;

/// Says that the term has ended, so that there is nothing to extend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lapsed;

#[derive(Debug)]
pub(super) struct Cell {
    clock: Clock,
    /// Nanoseconds since the clock's origin, or [`ENDED`].
    valid_until: AtomicU64,
    /// While a deliberate end is under way, the deadline as it was; else [`ENDED`]. Not read before the
    /// reason is set, which orders it.
    hand_over_by: AtomicU64,
    /// Set once, right after `valid_until` has become [`ENDED`].
    reason: SetOnce<Reason>,
}

impl Cell {
    pub(super) fn new(clock: Clock, valid_until: Instant) -> Self {
        Self {
            clock,
            valid_until: AtomicU64::new(nanos(valid_until)),
            hand_over_by: AtomicU64::new(ENDED),
            reason: SetOnce::new(),
        }
    }

    pub(super) fn reason(&self) -> &SetOnce<Reason> {
        &self.reason
    }

    /// One load and one look at the clock, unless the deadline has passed.
    #[inline]
    pub(super) fn remaining(&self) -> Duration {
        let mut until = self.valid_until.load(Ordering::Acquire);
        while until != ENDED {
            let now = nanos(self.clock.now());
            if now < until {
                return Duration::from_nanos(until - now);
            }
            match self.finish(until, Reason::Deadline) {
                Ok(()) => break,
                Err(extended) => until = extended,
            }
        }
        Duration::ZERO
    }

    pub(super) fn hand_over_remaining(&self) -> Duration {
        let by = self.hand_over_by.load(Ordering::Acquire);
        Duration::from_nanos(by.saturating_sub(nanos(self.clock.now())))
    }

    /// Never shortens: of two answers the later deadline holds.
    pub(super) fn extend(&self, now: Instant, until: Instant) -> Result<(), Lapsed> {
        let (now, until) = (nanos(now), nanos(until));
        let mut current = self.valid_until.load(Ordering::Acquire);
        while current != ENDED {
            if current <= now {
                match self.finish(current, Reason::Deadline) {
                    Ok(()) => return Err(Lapsed),
                    Err(other) => current = other,
                }
                continue;
            }
            if until <= current {
                return Ok(());
            }
            match self.valid_until.compare_exchange(current, until, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(()),
                Err(other) => current = other,
            }
        }
        Err(Lapsed)
    }

    /// Ends the term and keeps its deadline as the one of the hand-over.
    pub(super) fn freeze(&self, reason: Reason) {
        let mut current = self.valid_until.load(Ordering::Acquire);
        while current != ENDED {
            let (reason, by) = if current <= nanos(self.clock.now()) {
                (Reason::Deadline, ENDED)
            } else {
                (reason, current)
            };
            match self.valid_until.compare_exchange(current, ENDED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    self.hand_over_by.store(by, Ordering::Release);
                    return self.give(reason);
                }
                Err(other) => current = other,
            }
        }
    }

    /// Ends the term, and a hand-over that is under way.
    pub(super) fn end(&self, reason: Reason) {
        if self.valid_until.swap(ENDED, Ordering::AcqRel) != ENDED {
            self.give(reason);
        }
        self.hand_over_by.store(ENDED, Ordering::Release);
    }

    #[cold]
    fn finish(&self, seen: u64, reason: Reason) -> Result<(), u64> {
        self.valid_until.compare_exchange(seen, ENDED, Ordering::AcqRel, Ordering::Acquire)?;
        self.give(reason);
        Ok(())
    }

    fn give(&self, reason: Reason) {
        let given = self.reason.set(reason);
        debug_assert!(given.is_ok(), "only who ends the term gives the reason");
    }
}

/// 584 years fit.
fn nanos(at: Instant) -> u64 {
    u64::try_from(at.since_origin().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Barrier},
        thread,
    };

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    async fn pass(time: Duration) {
        tokio::time::advance(time).await;
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_seen_as_passed_is_not_extended_by_an_earlier_now() {
        let clock = Clock::tokio();
        let cell = Cell::new(clock, clock.now() + 100 * MS);
        pass(99 * MS).await;
        let now = clock.now();
        pass(MS).await;
        assert_eq!(cell.remaining(), Duration::ZERO);
        assert_eq!(cell.extend(now, now + 100 * MS), Err(Lapsed));
        assert_eq!(cell.remaining(), Duration::ZERO);
        assert_eq!(cell.reason().get(), Some(&Reason::Deadline));
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_that_has_passed_is_not_extended() {
        let clock = Clock::tokio();
        let cell = Cell::new(clock, clock.now() + 100 * MS);
        pass(100 * MS).await;
        assert_eq!(cell.extend(clock.now(), clock.now() + 100 * MS), Err(Lapsed));
        assert_eq!(cell.reason().get(), Some(&Reason::Deadline));
    }

    #[tokio::test(start_paused = true)]
    async fn extension_never_shortens() {
        let clock = Clock::tokio();
        let cell = Cell::new(clock, clock.now() + 100 * MS);
        assert_eq!(cell.extend(clock.now(), clock.now() + 50 * MS), Ok(()));
        assert_eq!(cell.remaining(), 100 * MS);
        assert_eq!(cell.extend(clock.now(), clock.now() + 150 * MS), Ok(()));
        assert_eq!(cell.remaining(), 150 * MS);
    }

    #[tokio::test(start_paused = true)]
    async fn frozen_term_is_invalid_and_hands_over_until_its_old_deadline() {
        let clock = Clock::tokio();
        let cell = Cell::new(clock, clock.now() + 100 * MS);
        pass(40 * MS).await;
        cell.freeze(Reason::Stopped);
        assert_eq!((cell.remaining(), cell.hand_over_remaining()), (Duration::ZERO, 60 * MS));
        assert_eq!(cell.extend(clock.now(), clock.now() + 100 * MS), Err(Lapsed));
        cell.freeze(Reason::SteppedDown);
        assert_eq!(cell.hand_over_remaining(), 60 * MS);
        cell.end(Reason::SessionExpired);
        assert_eq!(cell.hand_over_remaining(), Duration::ZERO);
        assert_eq!(cell.reason().get(), Some(&Reason::Stopped));
    }

    #[tokio::test(start_paused = true)]
    async fn freeze_after_the_deadline_hands_nothing_over() {
        let clock = Clock::tokio();
        let cell = Cell::new(clock, clock.now() + 100 * MS);
        pass(100 * MS).await;
        cell.freeze(Reason::Stopped);
        assert_eq!(cell.hand_over_remaining(), Duration::ZERO);
        assert_eq!(cell.reason().get(), Some(&Reason::Deadline));
    }

    #[tokio::test(start_paused = true)]
    async fn first_reason_wins() {
        let clock = Clock::tokio();
        let cell = Cell::new(clock, clock.now() + 100 * MS);
        cell.end(Reason::LeaseLost);
        cell.end(Reason::Closed);
        cell.freeze(Reason::Stopped);
        assert_eq!(cell.reason().get(), Some(&Reason::LeaseLost));
        assert_eq!(cell.hand_over_remaining(), Duration::ZERO);
    }

    /// The keeper's `now` is stale by design and it extends at the last moment, sometimes too late.
    #[test]
    fn eight_readers_never_see_false_then_true_while_it_is_extended_at_the_edge() {
        const MICRO: Duration = Duration::from_micros(1);
        for _ in 0..50 {
            let mut until = Clock::Boot.now() + 3 * MS;
            let end = until + 2 * MS;
            let cell = Arc::new(Cell::new(Clock::Boot, until));
            let barrier = Arc::new(Barrier::new(9));
            let reader = || {
                let (cell, barrier) = (cell.clone(), barrier.clone());
                spawn(move || {
                    barrier.wait();
                    while !cell.remaining().is_zero() {}
                    (0..1_000).filter(|_| !cell.remaining().is_zero()).count()
                })
            };
            let readers: Vec<_> = (0..8).map(|_| reader()).collect();
            barrier.wait();
            while until < end {
                while Clock::Boot.now() + MICRO / 5 < until {}
                let extended = cell.extend(until - MICRO, until + 20 * MICRO);
                if extended == Err(Lapsed) {
                    break;
                }
                until = until + 20 * MICRO;
            }
            for reader in readers {
                assert_eq!(reader.join().unwrap(), 0, "a reader saw false, then true");
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the race is between threads")]
    fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
        thread::spawn(work)
    }
}
