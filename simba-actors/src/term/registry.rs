//! The terms that the keeper has started.

use std::collections::BTreeMap;

use simba_backends::LeaseName;

use super::Term;
use crate::engine::Reason;

/// The terms of one Simba, by name; dropping it ends them all.
///
/// The keeper owns it and drops it before its connections: however Simba's thread ends, no term
/// outlives the keep-alives that it lives on.
#[derive(Debug, Default)]
pub(crate) struct Terms(BTreeMap<LeaseName, Term>);

impl Terms {
    /// Adds a term; one of the same name that is still there has been lost to it.
    pub(crate) fn insert(&mut self, term: Term) {
        if let Some(older) = self.0.insert(term.name().clone(), term) {
            older.end(Reason::LeaseLost);
        }
    }

    pub(crate) fn get(&self, name: &LeaseName) -> Option<&Term> {
        self.0.get(name)
    }

    /// Takes a term out that has ended, or that its new owner ends.
    pub(crate) fn remove(&mut self, name: &LeaseName) -> Option<Term> {
        self.0.remove(name)
    }
}

impl Drop for Terms {
    fn drop(&mut self) {
        for term in self.0.values() {
            term.end(Reason::Closed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{clock::Clock, term::tests::term_of};

    #[test]
    fn terms_end_when_their_keeper_is_gone() {
        let term = term_of("job", 1, Clock::Boot, Duration::from_secs(60));
        let mut terms = Terms::default();
        terms.insert(term.clone());
        assert!(terms.get(term.name()).is_some_and(Term::is_valid));
        drop(terms);
        assert_eq!((term.is_valid(), term.reason()), (false, Some(Reason::Closed)));
    }

    #[test]
    fn a_newer_term_ends_the_older_of_its_name() {
        let [older, newer] = [1, 2].map(|token| term_of("job", token, Clock::Boot, Duration::from_secs(60)));
        let mut terms = Terms::default();
        terms.insert(older.clone());
        terms.insert(newer.clone());
        assert_eq!(older.reason(), Some(Reason::LeaseLost));
        assert_eq!(terms.remove(newer.name()).map(|term| term.token()), Some(newer.token()));
        drop(terms);
        assert!(newer.is_valid());
    }
}
