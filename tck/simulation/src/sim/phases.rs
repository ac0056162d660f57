//! A run's phases: faults first, then none, and then what was promised must come about (I9, I10, I15).
//!
//! ```text
//!   Faults ── Calm ─────────── Steady ── Failover ────── Retired ─────── Closing ────── Over
//!             faults end       all lead  a leader dies   all withdraw    all close
//!   in leases  0                4.5       5               7               8.5           9.8
//! ```

use std::time::Duration;

use simba_backends::LeaseName;

use super::{
    super::engine::{Input, Reason},
    world::{Event, World},
};
use crate::{Checked, outcome::conduct, plan::DRIFT_PPM};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Faults,
    Calm,
    Steady,
    Failover,
    Retired,
    Closing,
    Over,
}

impl World<'_> {
    pub(super) fn schedule_phases(&mut self) {
        let (calm, lease) = (self.plan.calm_at(), self.plan.lease);
        let phases = [
            (0, Phase::Calm),
            (45, Phase::Steady),
            (50, Phase::Failover),
            (70, Phase::Retired),
            (85, Phase::Closing),
            (98, Phase::Over),
        ];
        for (tenths, phase) in phases {
            self.after(calm + lease * tenths / 10, Event::Phase(phase));
        }
        self.after(self.plan.settled_at(), Event::Inspect);
        self.after(self.plan.fault_pause, Event::Fault);
        if self.plan.premise.is_some() {
            self.after(lease, Event::Copy);
            self.after(lease * 3, Event::Lose);
        }
    }

    pub(super) fn enter(&mut self, phase: Phase) -> Checked {
        self.phase = phase;
        match phase {
            Phase::Faults | Phase::Steady => Ok(()),
            Phase::Calm => self.calm_down(),
            Phase::Failover => {
                let leader = self.leader(&self.elections[0]);
                leader.into_iter().for_each(|n| self.crash(n, self.plan.lease / 2));
                Ok(())
            }
            Phase::Retired => self.retire(),
            Phase::Closing => self.check_quiet().and_then(|()| self.close_all()),
            Phase::Over => self.check_closed(),
        }
    }

    fn calm_down(&mut self) -> Checked {
        self.wire = self.wire.calm();
        self.refuses_until = Duration::ZERO;
        for n in 0..self.nodes.len() {
            let node = &mut self.nodes[n];
            node.cut_off_until = Duration::ZERO;
            let life = node.life;
            let pause = node.paused_until.saturating_sub(self.now).min(Duration::from_millis(1));
            node.paused_until = self.now + pause;
            if node.wake_at.is_some_and(|at| at > self.now) && node.engine.is_some() {
                node.wake_at = Some(self.now);
                self.after(Duration::ZERO, Event::Wake(life));
            }
            self.after(Duration::ZERO, Event::Restart { node: n });
            for name in self.elections.clone() {
                self.after(Duration::from_millis(2), Event::Act { life, name });
            }
        }
        Ok(())
    }

    fn leader(&self, name: &LeaseName) -> Option<usize> {
        (0..self.nodes.len()).find(|n| self.nodes[*n].valid_term(name, self.now).is_some())
    }

    pub(super) fn inspect(&mut self) -> Checked {
        self.after(self.plan.lease / 40, Event::Inspect);
        self.check_orphans()?;
        let fails_over = self.plan.lease + self.plan.lease * DRIFT_PPM / 1_000_000;
        let attempts = self.plan.renew + self.wire.delay * 4 + Duration::from_millis(10);
        let died_at = self.plan.calm_at() + self.plan.lease * 5;
        let led = match self.phase {
            Phase::Steady => true,
            Phase::Failover => self.now > died_at + fails_over + attempts,
            Phase::Faults | Phase::Calm | Phase::Retired | Phase::Closing | Phase::Over => false,
        };
        for name in self.elections.iter().filter(|_| led) {
            conduct(self.leader(name).is_some(), "I10", || format!("nobody leads {name}"))?;
        }
        Ok(())
    }

    /// I9: a lease without a term is gone before long.
    fn check_orphans(&mut self) -> Checked {
        let patience = self.plan.lease + self.plan.call_timeout;
        for name in self.all_names() {
            let held = self.store.holder(self.now, &name);
            let orphan = held.filter(|(session, token)| {
                let term = |n: usize| self.nodes[n].names[&name].term.as_ref();
                let mut terms = (0..self.nodes.len()).filter_map(term);
                !terms.any(|term| term.session == **session && term.token == *token)
            });
            let Some((session, token)) = orphan else {
                self.orphans.remove(&name);
                continue;
            };
            let found = (session.clone(), token, self.now);
            let known = self.orphans.entry(name.clone()).or_insert(found);
            if (&known.0, known.1) != (session, token) {
                *known = (session.clone(), token, self.now);
            }
            let young = self.now - known.2 <= patience;
            conduct(young, "I9", || format!("{session} holds {name} {token} without a term"))?;
        }
        Ok(())
    }

    fn retire(&mut self) -> Checked {
        for n in 0..self.nodes.len() {
            for name in self.all_names() {
                self.withdraw(n, &name, Reason::Stopped)?;
            }
        }
        Ok(())
    }

    /// I15: nothing is left of what nobody wants, neither here nor there.
    fn check_quiet(&mut self) -> Checked {
        for name in self.names() {
            let holder = self.store.holder(self.now, name);
            conduct(holder.is_none(), "I15", || format!("{holder:?} holds {name}, which nobody wants"))?;
        }
        for (n, node) in self.nodes.iter().enumerate() {
            let Some(engine) = &node.engine else { continue };
            let text = format!("{engine:?}");
            for empty in ["leases: {}", "ready: {}", "pending: {}", "due: {}", "in_doubt: {}"] {
                conduct(text.contains(empty), "I15", || format!("node {n} still has {empty}: {text}"))?;
            }
        }
        Ok(())
    }

    fn close_all(&mut self) -> Checked {
        for n in 0..self.nodes.len() {
            if self.nodes[n].close_by.is_none() {
                self.step(n, Input::Close)?;
            }
        }
        Ok(())
    }

    /// I8: after close nothing names the session.
    fn check_closed(&mut self) -> Checked {
        for (n, node) in self.nodes.iter().enumerate() {
            conduct(node.engine.is_none(), "R14", || format!("node {n} is not closed"))?;
        }
        Ok(())
    }
}
