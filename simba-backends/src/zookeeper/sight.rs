//! What is known of a lease that is watched.

use std::time::Duration;

use super::subject::Change;

/// How long a lease that was taken before our eyes need not be tried: longer than candidates of a released one spread,
/// once many of them have lost races.
const RECENT: Duration = Duration::from_secs(2);

/// How long after a term of our own what comes in may still be about that term.
const OWN: Duration = Duration::from_secs(1);

/// What a look has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    There,
    Missing,
}

/// Whether something makes a waiter look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worth {
    Hint,
    Nothing,
}

#[derive(Debug, Default)]
pub(super) struct Sight {
    seen: Seen,
    /// When a session of this backend has begun or ended a term of it last.
    own_term: Option<Duration>,
}

/// What came in last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Seen {
    #[default]
    Nothing,
    Free,
    Held,
    /// Since a moment before that.
    Taken(Duration),
}

impl Sight {
    pub(super) fn is_free(&self) -> bool {
        self.seen == Seen::Free
    }

    /// A look of that result was answered. Changes before it may come in afterwards.
    pub(super) fn looked(&mut self, look: Look) -> Worth {
        match (look, self.seen) {
            (Look::There, Seen::Nothing | Seen::Free) => self.seen = Seen::Held,
            // Who took it is no less recent for being there.
            (Look::There, Seen::Held | Seen::Taken(_)) | (Look::Missing, Seen::Free) => {}
            (Look::Missing, Seen::Nothing | Seen::Held | Seen::Taken(_)) => {
                self.seen = Seen::Free;
                return Worth::Hint;
            }
        }
        Worth::Nothing
    }

    pub(super) fn changed(&mut self, change: Change, now: Duration) -> Worth {
        match change {
            Change::Created => self.seen = Seen::Taken(now),
            Change::Deleted => {
                self.seen = Seen::Free;
                return Worth::Hint;
            }
            Change::Children => {}
        }
        Worth::Nothing
    }

    /// Nobody watches any more.
    pub(super) fn lost(&mut self) {
        self.seen = Seen::Nothing;
    }

    pub(super) fn own_term(&mut self, now: Duration) {
        self.own_term = Some(now);
    }

    /// Whether somebody else took it a moment ago. Who takes it is not told: after a term of our own it may be the
    /// news of that one, late.
    pub(super) fn is_just_taken(&self, now: Duration) -> bool {
        let is_older = |at: Duration, bound| now.saturating_sub(at) > bound;
        matches!(self.seen, Seen::Taken(at) if !is_older(at, RECENT))
            && self.own_term.is_none_or(|at| is_older(at, OWN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(100);

    #[test]
    fn what_was_taken_before_our_eyes_is_just_taken_for_a_moment() {
        let mut sight = Sight::default();
        assert!(!sight.is_just_taken(START));
        assert_eq!(sight.changed(Change::Created, START), Worth::Nothing);
        assert_eq!(sight.looked(Look::There), Worth::Nothing);
        assert!(sight.is_just_taken(START + RECENT));
        assert!(!sight.is_just_taken(START + RECENT + Duration::from_millis(1)));
    }

    #[test]
    fn what_is_free_again_or_not_watched_any_more_is_not_just_taken() {
        let mut sight = Sight::default();
        sight.changed(Change::Created, START);
        assert_eq!(sight.changed(Change::Deleted, START), Worth::Hint);
        assert!(!sight.is_just_taken(START) && sight.is_free());
        sight.changed(Change::Created, START);
        sight.lost();
        assert!(!sight.is_just_taken(START) && !sight.is_free());
    }

    #[test]
    fn nobody_knows_since_when_a_holder_has_it_that_a_look_finds() {
        let mut sight = Sight::default();
        assert_eq!(sight.looked(Look::There), Worth::Nothing);
        assert!(!sight.is_just_taken(START));
    }

    #[test]
    fn news_that_may_be_of_our_own_term_keeps_nobody_from_trying() {
        let mut sight = Sight::default();
        sight.own_term(START);
        sight.changed(Change::Created, START);
        assert!(!sight.is_just_taken(START));
        sight.changed(Change::Created, START + OWN * 2);
        assert!(sight.is_just_taken(START + OWN * 2));
    }

    #[test]
    fn a_look_that_finds_what_is_known_is_worth_nothing() {
        let mut sight = Sight::default();
        assert_eq!(sight.looked(Look::Missing), Worth::Hint);
        assert_eq!(sight.looked(Look::Missing), Worth::Nothing);
        assert_eq!(sight.looked(Look::There), Worth::Nothing);
        assert_eq!(sight.looked(Look::Missing), Worth::Hint);
    }
}
