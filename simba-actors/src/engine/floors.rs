//! The floor of each name (R1): the highest token for which this process ever started a term or decided
//! a release. It outlives sessions, so that one token starts at most one term.

use std::collections::BTreeMap;

use simba_backends::{LeaseName, Token};

/// How many names are remembered; the one touched longest ago goes first.
const CAPACITY: usize = 65_536;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Floors {
    by_name: BTreeMap<LeaseName, (Token, u64)>,
    by_age: BTreeMap<u64, LeaseName>,
    touched: u64,
}

impl Floors {
    pub(super) fn get(&self, name: &LeaseName) -> Option<Token> {
        self.by_name.get(name).map(|(token, _)| *token)
    }

    /// Raises the floor to `token` if it is lower.
    pub(super) fn raise(&mut self, name: &LeaseName, token: Token) {
        if self.get(name) < Some(token) {
            self.set(name, token);
        }
    }

    /// Sets the floor, also to a lower token: for a storage that lost its tokens (R19).
    pub(super) fn set(&mut self, name: &LeaseName, token: Token) {
        self.touched += 1;
        if let Some((_, age)) = self.by_name.insert(name.clone(), (token, self.touched)) {
            self.by_age.remove(&age);
        }
        self.by_age.insert(self.touched, name.clone());
        if self.by_name.len() > CAPACITY
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.by_name.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: usize) -> LeaseName {
        format!("n{n}").parse().unwrap()
    }

    #[test]
    fn the_name_touched_longest_ago_is_forgotten_first() {
        let mut floors = Floors::default();
        let token = Token::new(7).unwrap();
        for n in 0..CAPACITY {
            floors.raise(&name(n), token);
        }
        floors.raise(&name(0), Token::new(8).unwrap());
        floors.raise(&name(CAPACITY), token);
        assert_eq!(floors.get(&name(0)), Token::new(8));
        assert_eq!(floors.get(&name(1)), None);
        assert_eq!(floors.by_age.len(), CAPACITY);
    }
}
