//! How soon an actor that has died is built again.

use std::time::Duration;

use crate::engine::Instant;

/// A life that lasted so long owes nothing for earlier ones.
const QUIET: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What an actor's lives were like so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct History {
    /// Deaths in a row, each within a minute of its life's start.
    pub(super) quick_deaths: u32,
    /// When the present life began.
    pub(super) alive_since: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    Now,
    After(Duration),
}

/// Judges a death at `now`: the first is forgiven at once, quick repeats wait 1 s, 2 s, .. 30 s.
pub(super) fn decide(history: History, now: Instant) -> (Restart, u32) {
    let lived = history.alive_since.until(now);
    let earlier = if lived >= QUIET { 0 } else { history.quick_deaths };
    let restart = match earlier.checked_sub(1) {
        None => Restart::Now,
        Some(doublings) => Restart::After((FIRST_PAUSE * (1 << doublings.min(5))).min(LONGEST_PAUSE)),
    };
    (restart, earlier.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn die_after(lived: Duration, quick_deaths: u32) -> (Restart, u32) {
        let alive_since = Instant::new(Duration::from_secs(1_000));
        decide(History { quick_deaths, alive_since }, alive_since + lived)
    }

    #[test]
    fn quick_repeats_wait_longer_and_longer() {
        let mut deaths = 0;
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let (restart, total) = die_after(Duration::ZERO, deaths);
            deaths = total;
            pauses.push(match restart {
                Restart::Now => 0,
                Restart::After(pause) => pause.as_secs(),
            });
        }
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 30, 30, 30]);
    }

    #[test]
    fn a_quiet_minute_is_rewarded_with_a_restart_at_once() {
        assert_eq!(die_after(QUIET, 7), (Restart::Now, 1));
        assert_eq!(die_after(QUIET - Duration::from_secs(1), 1), (Restart::After(FIRST_PAUSE), 2));
    }

    #[test]
    fn deaths_without_number_still_wait_at_most_the_longest_pause() {
        assert_eq!(die_after(Duration::ZERO, u32::MAX), (Restart::After(LONGEST_PAUSE), u32::MAX));
    }
}
