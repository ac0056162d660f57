//! How those who wait for a lease take turns when it is freed.
//!
//! All of them are told at once, and nobody counts them. How many sessions there are is known, and there are no more
//! who wait than that. So few go first that they would be few if all waited; if nobody has taken the lease by the time
//! of a wave twice as many may go, and so on: of many who wait few have asked when one has it, and of few the first is
//! late by some waves only. Whoever sees it taken goes no more.

use std::time::Duration;

/// So many go first.
const FEW: u32 = 12;

/// How long it takes to see that one of them has it.
const WAVE: Duration = Duration::from_millis(25);

/// How long one of so many sessions waits, by lot.
pub(super) fn delay(sessions: u32, lot: u32) -> Duration {
    let (mut wave, mut going) = (0, FEW);
    // The lot is one of as many as there are sessions, and those below `going` go.
    let place = lot % sessions.max(1);
    while place >= going {
        wave += 1;
        going = going.saturating_mul(2);
    }
    WAVE * wave
}

/// How many are told in the first wave, at most.
pub(super) fn going(sessions: u32) -> u32 {
    sessions.min(FEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many who all wait have been told by then.
    fn told(sessions: u32, by: Duration) -> usize {
        (0..sessions).filter(|lot| delay(sessions, *lot) <= by).count()
    }

    #[test]
    fn few_go_at_once() {
        assert_eq!(told(FEW, Duration::ZERO), 12);
        assert_eq!(told(0, Duration::ZERO), 0);
        assert_eq!(delay(1, u32::MAX), Duration::ZERO);
    }

    #[test]
    fn of_many_few_go_first_and_then_twice_as_many() {
        assert_eq!(told(200, Duration::ZERO), 12);
        assert_eq!(told(200, WAVE), 24);
        assert_eq!(told(200, WAVE * 5), 200);
    }

    #[test]
    fn a_thousand_are_through_in_no_time() {
        assert_eq!(told(1000, WAVE * 7), 1000);
    }
}
