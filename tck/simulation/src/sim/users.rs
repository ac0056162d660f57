//! The users of a node: elections that are stopped and step down, locks that are taken and let go.

use std::time::Duration;

use simba_backends::LeaseName;

use super::{
    super::engine::{Goal, Input, Reason},
    node::Stage,
    phases::Phase,
    world::{Event, World},
};
use crate::Checked;

impl World<'_> {
    /// A process starts: its session is opened, its users wake up.
    pub(super) fn begin(&mut self, n: usize) -> Checked {
        let life = self.nodes[n].life;
        self.step(n, Input::Tick)?;
        for name in self.all_names() {
            self.after(Duration::ZERO, Event::Act { life, name: name.clone() });
            let pause = self.rng.span(self.plan.lease);
            self.after(pause, Event::Read { life, name });
        }
        Ok(())
    }

    pub(super) fn schedule_act(&mut self, n: usize, name: &LeaseName) {
        let life = self.nodes[n].life;
        let pause = self.rng.span(self.plan.act_pause * 2);
        self.after(pause, Event::Act { life, name: name.clone() });
    }

    pub(super) fn act(&mut self, n: usize, name: LeaseName) -> Checked {
        let busy = self.nodes[n].close_by.is_some();
        if busy || matches!(self.phase, Phase::Retired | Phase::Closing | Phase::Over) {
            return Ok(());
        }
        if self.locks.contains(&name) {
            self.schedule_act(n, &name);
            return self.act_on_lock(n, name);
        }
        let calm = self.phase != Phase::Faults;
        if !calm {
            self.schedule_act(n, &name);
        }
        let wanted = self.nodes[n].wish(&name).wanted;
        match self.rng.below(12) {
            _ if !wanted => self.contend(n, name, Goal::Terms),
            0 | 1 if !calm => self.withdraw(n, &name, Reason::Stopped),
            2 | 3 if !calm => self.stand_down(n, &name, Reason::SteppedDown),
            4 if !calm => self.stand_down(n, &name, Reason::HandlerFailed),
            _ => Ok(()),
        }
    }

    /// A lock is waited for until it is held or no longer wanted, held for a while and let go.
    fn act_on_lock(&mut self, n: usize, name: LeaseName) -> Checked {
        let patient = self.rng.chance(700);
        let wish = self.nodes[n].wish(&name);
        let holds = wish.term.as_ref().is_some_and(|term| term.stage == Stage::Running);
        if holds || (wish.wanted && !patient) {
            return self.withdraw(n, &name, Reason::Released);
        }
        if wish.wanted || wish.term.is_some() || wish.settle_by.is_some() {
            return Ok(());
        }
        self.contend(n, name, Goal::OneTerm)
    }

    fn contend(&mut self, n: usize, name: LeaseName, goal: Goal) -> Checked {
        self.nodes[n].wish(&name).wanted = true;
        self.step(n, Input::Contend { name, goal })
    }

    pub(super) fn withdraw(&mut self, n: usize, name: &LeaseName, reason: Reason) -> Checked {
        let wish = self.nodes[n].wish(name);
        wish.wanted = false;
        wish.stands_out_until = Default::default();
        self.expect_settled(n, name);
        self.step(n, Input::Withdraw { name: name.clone(), reason })
    }

    fn stand_down(&mut self, n: usize, name: &LeaseName, reason: Reason) -> Checked {
        let stay_out = self.rng.span(self.plan.lease * 3 / 2) + Duration::from_millis(1);
        let now = self.nodes[n].local(self.now);
        self.nodes[n].wish(name).stands_out_until = now + stay_out;
        self.expect_settled(n, name);
        self.step(n, Input::StandDown { name: name.clone(), reason, stay_out })
    }

    /// R17: settled when nothing is left, or when what is left is over at the latest.
    fn expect_settled(&mut self, n: usize, name: &LeaseName) {
        let node = &mut self.nodes[n];
        let now = node.local(self.now);
        let patience = now + self.plan.call_timeout * 2;
        let wish = node.wish(name);
        let by = wish.term.as_ref().map_or(patience, |term| patience.max(term.valid_until));
        wish.settle_by = Some(wish.settle_by.map_or(by, |before| before.min(by)));
    }
}
