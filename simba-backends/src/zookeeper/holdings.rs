//! What a session may hold, by what it asked for and was told.
//!
//! Only the ensemble says what is held. This remembers the tokens, which its list does not tell, and which names are
//! not to be believed: those with a call under way, or one that ended without an answer.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{LeaseName, Token};

#[derive(Debug, Default)]
pub(super) struct Holdings {
    names: BTreeMap<LeaseName, Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The greatest that was told. A later term of the name has a greater one.
    token: Option<Token>,
    /// How many calls about it are under way.
    open: u32,
    /// When one of them was given up last.
    given_up: Option<Duration>,
}

impl Known {
    /// Whether no call about it can take effect later than something that was asked at that time.
    fn is_settled(&self, asked: Duration) -> bool {
        self.open == 0 && self.given_up.is_none_or(|at| at < asked)
    }
}

/// How a call about a name ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Held(Token),
    NotHeld,
    /// Nobody knows; at that time.
    GivenUp(Duration),
}

impl Holdings {
    /// A call that creates or deletes its node is sent.
    pub(super) fn sent(&mut self, name: &LeaseName) {
        self.names.entry(name.clone()).or_default().open += 1;
    }

    /// One of those that were sent has ended.
    pub(super) fn ended(&mut self, name: &LeaseName, end: End) {
        let Some(known) = self.names.get_mut(name) else { return };
        known.open = known.open.saturating_sub(1);
        match end {
            End::Held(token) => known.token = known.token.max(Some(token)),
            End::NotHeld if known.open == 0 && known.given_up.is_none() => {
                self.names.remove(name);
            }
            End::NotHeld => known.token = None,
            End::GivenUp(at) => known.given_up = known.given_up.max(Some(at)),
        }
    }

    /// Whether the session holds it, or may.
    pub(super) fn is_possible(&self, name: &LeaseName) -> bool {
        self.names.contains_key(name)
    }

    /// Its token if it is held at all; nothing where the ensemble has to be asked.
    pub(super) fn token(&self, name: &LeaseName) -> Option<Token> {
        let known = self.names.get(name)?;
        known.token.filter(|_| known.open == 0 && known.given_up.is_none())
    }

    /// The ensemble, asked at that time, has it as held with that token.
    pub(super) fn found(&mut self, name: &LeaseName, token: Token, asked: Duration) {
        let known = self.names.entry(name.clone()).or_default();
        known.token = known.token.max(Some(token));
        known.given_up = known.given_up.filter(|at| *at >= asked);
    }

    /// The ensemble, asked at that time, has it as held by somebody else.
    pub(super) fn missed(&mut self, name: &LeaseName, asked: Duration) {
        if self.names.get(name).is_some_and(|known| known.is_settled(asked)) {
            self.names.remove(name);
        }
    }

    /// The ensemble, asked at that time, has these as held and no others. What was granted since is forgotten, too, and
    /// asked for again.
    pub(super) fn listed(&mut self, held: &BTreeSet<LeaseName>, asked: Duration) {
        self.names.retain(|name, known| held.contains(name) || !known.is_settled(asked));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> LeaseName {
        "n".parse().unwrap()
    }

    fn token(number: u64) -> Token {
        Token::new(number).unwrap()
    }

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_token_is_known_while_nothing_is_under_way() {
        let mut holdings = Holdings::default();
        holdings.sent(&name());
        assert_eq!(holdings.token(&name()), None);
        holdings.ended(&name(), End::Held(token(7)));
        assert_eq!(holdings.token(&name()), Some(token(7)));
        holdings.sent(&name());
        assert_eq!(holdings.token(&name()), None, "it is being released");
        holdings.ended(&name(), End::NotHeld);
        assert!(holdings.names.is_empty(), "nothing is left to remember");
    }

    #[test]
    fn after_a_call_without_an_answer_the_ensemble_is_asked() {
        let mut holdings = Holdings::default();
        holdings.sent(&name());
        holdings.ended(&name(), End::Held(token(7)));
        holdings.sent(&name());
        holdings.ended(&name(), End::GivenUp(at(10)));
        assert_eq!(holdings.token(&name()), None);
        holdings.found(&name(), token(7), at(10));
        assert_eq!(holdings.token(&name()), None, "it was asked before the call was given up");
        holdings.found(&name(), token(9), at(11));
        assert_eq!(holdings.token(&name()), Some(token(9)));
    }

    #[test]
    fn what_another_holds_is_forgotten() {
        let mut holdings = Holdings::default();
        holdings.sent(&name());
        holdings.missed(&name(), at(9));
        holdings.ended(&name(), End::GivenUp(at(5)));
        holdings.missed(&name(), at(5));
        assert!(holdings.names.contains_key(&name()), "it was asked before the call was given up");
        holdings.missed(&name(), at(6));
        assert!(holdings.names.is_empty());
    }

    #[test]
    fn an_answer_that_comes_late_hides_no_later_term() {
        let mut holdings = Holdings::default();
        holdings.sent(&name());
        holdings.ended(&name(), End::Held(token(9)));
        holdings.found(&name(), token(7), at(1));
        assert_eq!(holdings.token(&name()), Some(token(9)));
    }

    #[test]
    fn what_is_not_listed_is_forgotten_unless_a_call_may_still_take_effect() {
        let mut holdings = Holdings::default();
        holdings.sent(&name());
        holdings.listed(&BTreeSet::new(), at(5));
        holdings.ended(&name(), End::GivenUp(at(5)));
        holdings.listed(&BTreeSet::new(), at(5));
        assert!(holdings.names.contains_key(&name()));
        holdings.listed(&BTreeSet::from([name()]), at(6));
        assert!(holdings.names.contains_key(&name()));
        holdings.listed(&BTreeSet::new(), at(6));
        assert!(holdings.names.is_empty());
    }
}
