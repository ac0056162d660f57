//! The promise: one valid term a name, each covered by the storage, tokens that rise (I1 to I4, I6).

use std::time::Duration;

use simba_backends::{LeaseName, Token};

use super::world::{Event, World};
use crate::{Breaks, Checked, Violation};

/// Clocks are read in whole nanoseconds.
const ROUNDING: Duration = Duration::from_micros(1);

impl World<'_> {
    /// Fails with a broken promise unless `holds`; without its premise that is only noted.
    fn promise(&mut self, holds: bool, rule: &'static str, what: impl FnOnce() -> String) -> Checked {
        if holds {
            return Ok(());
        }
        if self.plan.premise.is_some() {
            self.shown.insert(rule);
            return Ok(());
        }
        Err(Violation { rule, what: what(), breaks: Breaks::Promise })
    }

    /// I2, I6: of a name at most one term is valid, and the storage holds the lease of one that is.
    pub(super) fn check_valid(&mut self, name: &LeaseName) -> Checked {
        let now = self.now;
        let nodes = self.nodes.iter().enumerate();
        let valid = nodes.filter_map(|(n, node)| Some((n, node.valid_term(name, now)?)));
        let valid: Vec<_> = valid.map(|(n, term)| (n, term.token, term.session.clone())).collect();
        let one = valid.len() <= 1;
        self.promise(one, "I2", || format!("{name} has {} valid terms: {valid:?}", valid.len()))?;
        for (n, token, session) in valid {
            let covered = self.store.vouches(now, &session, name, token);
            self.promise(covered, "I6", || format!("node {n} leads {name} {token} without the lease"))?;
        }
        Ok(())
    }

    /// I6: the deadline comes before the lease may be taken, also for one who looked at the clock just
    /// before it and acts within the margin.
    pub(super) fn check_deadline(&mut self, n: usize, name: &LeaseName) -> Checked {
        let node = &self.nodes[n];
        let Some(term) = node.names.get(name).and_then(|wish| wish.term.clone()) else { return Ok(()) };
        let acts_by = node.true_at(term.valid_until + self.plan.margin);
        let free_at = self.store.expires_at(&term.session).unwrap_or_default();
        let covered = acts_by <= free_at + ROUNDING;
        let token = term.token;
        self.promise(covered, "I6", || {
            format!("node {n} may act for {name} {token} until {acts_by:?}, its lease ends at {free_at:?}")
        })
    }

    /// I3: tokens rise from term to term, whoever has them.
    pub(super) fn check_newest(&mut self, n: usize, name: &LeaseName, token: Token) -> Checked {
        let before = self.newest.insert(name.clone(), (n, token));
        let rises = before.is_none_or(|(_, before)| token > before);
        self.promise(rises, "I3", || format!("node {n} starts {name} {token} after {before:?}"))
    }

    /// Some thread of the process asks `is_valid`, and writes to a fenced resource if it is (I4).
    pub(super) fn read(&mut self, n: usize, name: LeaseName) -> Checked {
        let node = &mut self.nodes[n];
        let (life, now) = (node.life, node.local(self.now));
        if let Some(term) = &mut node.wish(&name).term
            && term.stage == super::node::Stage::Running
            && now >= term.valid_until
        {
            term.stage = super::node::Stage::Latched;
        }
        if let Some(token) = self.nodes[n].valid_term(&name, self.now).map(|term| term.token) {
            self.check_valid(&name)?;
            let fence = self.fences.get(&name).copied();
            let accepted = Some(token) >= fence;
            self.promise(accepted, "I4", || format!("valid {name} {token} is fenced off by {fence:?}"))?;
            self.fences.insert(name.clone(), token.max(fence.unwrap_or(token)));
        }
        let pause = self.rng.span(self.plan.lease);
        self.after(pause, Event::Read { life, name });
        Ok(())
    }
}
