//! What befalls nodes and the storage, and the premises that are taken away.

use std::time::Duration;

use simba_backends::Hint;

use super::{
    super::engine::Input,
    node::{Life, Node},
    phases::Phase,
    world::{Event, World},
};
use crate::{Checked, Fault, Premise};

impl World<'_> {
    pub(super) fn fault(&mut self) -> Checked {
        if self.phase != Phase::Faults || self.plan.faults.is_empty() {
            return Ok(());
        }
        let pause = self.rng.span(self.plan.fault_pause * 2);
        self.after(pause, Event::Fault);
        let fault = self.rng.pick(&self.plan.faults);
        let n = self.rng.below(self.nodes.len());
        self.counts.faults += 1;
        self.trace.note(self.now, &(fault, n), || format!("{fault:?} (node {n})"));
        self.befall(fault, n)
    }

    fn befall(&mut self, fault: Fault, n: usize) -> Checked {
        let lease = self.plan.lease;
        let short = self.rng.chance(500);
        let span = self.rng.span(if short { lease / 4 } else { lease * 2 });
        let node = &mut self.nodes[n];
        match fault {
            Fault::Pause => node.paused_until = self.now + span,
            Fault::Jump => {
                node.clock.jump(self.now, span);
                self.wake_now(n);
            }
            Fault::Partition => node.cut_off_until = self.now + span,
            Fault::Crash => self.crash(n, span),
            Fault::Close if node.engine.is_some() && node.close_by.is_none() => {
                // A paused process does not call `close`.
                if node.paused_until <= self.now {
                    return self.step(n, Input::Close);
                }
            }
            Fault::Close => {}
            Fault::Refuse => self.refuses_until = self.now + span,
            Fault::Retake => {
                let at = self.rng.below(self.elections.len());
                let name = self.elections[at].clone();
                self.store.retake(self.now, &name);
            }
            Fault::Gap => {
                let to = node.life;
                self.after(Duration::ZERO, Event::Hint { to, hint: Hint::Gap });
            }
        }
        Ok(())
    }

    /// A clock that jumped shows deadlines as passed.
    fn wake_now(&mut self, n: usize) {
        let node = &mut self.nodes[n];
        if node.engine.is_some() {
            node.wake_at = Some(self.now);
            let life = node.life;
            self.after(Duration::ZERO, Event::Wake(life));
        }
    }

    pub(super) fn crash(&mut self, n: usize, down: Duration) {
        if self.nodes[n].engine.is_some() {
            self.nodes[n].die();
            self.after(down, Event::Restart { node: n });
        }
    }

    /// `close()` is answered: the process ends, and starts anew if it is still early.
    pub(super) fn closed_down(&mut self, n: usize) -> Checked {
        self.nodes[n].die();
        let lease = self.plan.lease;
        match self.phase {
            Phase::Faults => {
                let down = self.rng.span(lease);
                self.after(down, Event::Restart { node: n });
            }
            Phase::Calm => self.after(Duration::ZERO, Event::Restart { node: n }),
            Phase::Steady | Phase::Failover | Phase::Retired | Phase::Closing | Phase::Over => {}
        }
        Ok(())
    }

    pub(super) fn restart(&mut self, n: usize) -> Checked {
        let node = &self.nodes[n];
        let early = !matches!(self.phase, Phase::Retired | Phase::Closing | Phase::Over);
        if node.engine.is_some() || !early {
            return Ok(());
        }
        let life = Life { node: n, number: node.life.number + 1 };
        let (clock, names) = (node.clock.clone(), self.all_names());
        let cut_off_until = node.cut_off_until;
        self.nodes[n] = Node { cut_off_until, ..Node::new(life, clock, self.plan, &names) };
        self.begin(n)
    }

    /// What a copy would restore if writes were lost now.
    pub(super) fn copy_store(&mut self) -> Checked {
        self.copy = self.store.clone();
        let pause = self.rng.span(self.plan.lease * 2);
        self.after(pause, Event::Copy);
        Ok(())
    }

    /// Takes away what the promise rests on.
    pub(super) fn lose_premise(&mut self) -> Checked {
        if self.phase != Phase::Faults {
            return Ok(());
        }
        match self.plan.premise {
            Some(Premise::LostWrites) => self.store.restore(&self.copy),
            Some(Premise::ClockStep) => self.store.step_clock(self.plan.lease),
            Some(Premise::ClockRate) | None => {}
        }
        let premise = self.plan.premise;
        self.trace.note(self.now, &"premise", || format!("lost: {premise:?}"));
        let pause = self.rng.span(self.plan.lease * 4);
        self.after(pause, Event::Lose);
        Ok(())
    }
}
