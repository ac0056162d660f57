//! The world: true time, what is to happen next, and the order in which it does.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use simba_backends::{Hint, LeaseName, SessionId, Token};

use super::{
    super::engine::{Answer, Call, CallId, Input},
    node::{Life, Node},
    phases::Phase,
};
use crate::{Checked, Clock, Counts, Plan, Premise, Rng, Store, Trace, plan::DRIFT_PPM, plan::Wire};

pub(super) enum Event {
    /// The deadline of an engine.
    Wake(Life),
    /// A request reaches the storage; a doubled one has no id, for nobody waits for its answer.
    Request {
        from: Life,
        id: Option<CallId>,
        call: Call,
        waited: Duration,
    },
    /// An answer reaches the node.
    Reply {
        to: Life,
        id: CallId,
        answer: Answer,
    },
    Hint {
        to: Life,
        hint: Hint,
    },
    /// The handlers of a term have resolved.
    HandedOver {
        life: Life,
        name: LeaseName,
        token: Token,
    },
    /// A user does something.
    Act {
        life: Life,
        name: LeaseName,
    },
    /// Some thread asks whether a term is valid, and writes if it is.
    Read {
        life: Life,
        name: LeaseName,
    },
    /// Something breaks.
    Fault,
    /// A node that was down starts anew.
    Restart {
        node: usize,
    },
    /// The storage is copied; a premise is lost, such as what is newer than the copy.
    Copy,
    Lose,
    Phase(Phase),
    /// The world is looked at.
    Inspect,
}

pub(super) struct World<'a> {
    pub(super) plan: &'a Plan,
    pub(super) trace: &'a mut Trace,
    pub(super) now: Duration,
    pub(super) rng: Rng,
    queue: BTreeMap<(Duration, u64), Event>,
    scheduled: u64,
    pub(super) wire: Wire,
    pub(super) store: Store,
    pub(super) copy: Store,
    pub(super) refuses_until: Duration,
    pub(super) nodes: Vec<Node>,
    pub(super) elections: Vec<LeaseName>,
    pub(super) locks: Vec<LeaseName>,
    pub(super) phase: Phase,
    /// The newest term of each name: its node and its token.
    pub(super) newest: BTreeMap<LeaseName, (usize, Token)>,
    /// The highest token that each resource behind a fence accepted.
    pub(super) fences: BTreeMap<LeaseName, Token>,
    /// Leases without a term, since when.
    pub(super) orphans: BTreeMap<LeaseName, (SessionId, Token, Duration)>,
    pub(super) session_ids: BTreeSet<SessionId>,
    pub(super) counts: Counts,
    pub(super) shown: BTreeSet<&'static str>,
}

impl<'a> World<'a> {
    pub(super) fn new(plan: &'a Plan, trace: &'a mut Trace) -> Self {
        let name = |kind: &str, n: usize| format!("{kind}{n}").parse().expect("letters and digits");
        let elections: Vec<LeaseName> = (0..plan.elections).map(|n| name("election", n)).collect();
        let locks: Vec<LeaseName> = (0..plan.locks).map(|n| name("lock", n)).collect();
        let mut world = Self {
            plan,
            trace,
            now: Duration::ZERO,
            rng: Rng::new(!plan.seed),
            queue: BTreeMap::new(),
            scheduled: 0,
            wire: plan.wire.clone(),
            store: Store::new(plan.flaw),
            copy: Store::new(plan.flaw),
            refuses_until: Duration::ZERO,
            nodes: Vec::new(),
            elections,
            locks,
            phase: Phase::Faults,
            newest: BTreeMap::new(),
            fences: BTreeMap::new(),
            orphans: BTreeMap::new(),
            session_ids: BTreeSet::new(),
            counts: Counts::default(),
            shown: BTreeSet::new(),
        };
        for node in 0..plan.nodes {
            let clock = world.draw_clock();
            let names: Vec<_> = world.names().cloned().collect();
            world.nodes.push(Node::new(Life { node, number: 0 }, clock, plan, &names));
        }
        world
    }

    /// Rates at the limits are the likeliest: that is where the arithmetic of validity breaks.
    fn draw_clock(&mut self) -> Clock {
        let drift = DRIFT_PPM.cast_signed();
        let slow = if self.plan.premise == Some(Premise::ClockRate) { -40 * drift } else { -drift };
        let rate = self.rng.pick(&[slow, slow, 0, drift]);
        Clock::new(self.rng.span(Duration::from_secs(1_000_000)), rate)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &LeaseName> {
        self.elections.iter().chain(&self.locks)
    }

    pub(super) fn after(&mut self, pause: Duration, event: Event) {
        self.scheduled += 1;
        self.queue.insert((self.now + pause, self.scheduled), event);
    }

    pub(super) fn run(&mut self) -> Checked {
        for node in 0..self.nodes.len() {
            self.begin(node)?;
        }
        self.schedule_phases();
        while let Some(((at, _), event)) = self.queue.pop_first() {
            if self.phase == Phase::Over {
                break;
            }
            self.now = at;
            self.happen(event)?;
        }
        self.counts.time = self.now;
        Ok(())
    }

    fn happen(&mut self, event: Event) -> Checked {
        match event {
            Event::Request { from, id, call, waited } => self.arrived(from, id, &call, waited),
            Event::Fault => self.fault(),
            Event::Restart { node } => self.restart(node),
            Event::Copy => self.copy_store(),
            Event::Lose => self.lose_premise(),
            Event::Phase(phase) => self.enter(phase),
            Event::Inspect => self.inspect(),
            Event::Wake(life)
            | Event::Reply { to: life, .. }
            | Event::Hint { to: life, .. }
            | Event::HandedOver { life, .. }
            | Event::Act { life, .. }
            | Event::Read { life, .. } => self.happen_on(life, event),
        }
    }

    /// What happens on a node happens only while its process lives and runs: after a pause everything
    /// comes at once, in any order.
    fn happen_on(&mut self, life: Life, event: Event) -> Checked {
        let node = &self.nodes[life.node];
        if node.life != life || node.engine.is_none() {
            return Ok(());
        }
        let pause = node.paused_until.saturating_sub(self.now);
        if !pause.is_zero() {
            let disorder = self.rng.span(Duration::from_millis(2));
            let woken = matches!(event, Event::Wake(_));
            self.after(pause + disorder, event);
            if woken {
                self.nodes[life.node].wake_at = Some(self.now + pause + disorder);
            }
            return Ok(());
        }
        match event {
            Event::Wake(life) if node.wake_at == Some(self.now) => self.step(life.node, Input::Tick),
            Event::Reply { id, answer, .. } => self.replied(life.node, id, answer),
            Event::Hint { hint, .. } => self.step(life.node, Input::Hint(hint)),
            Event::HandedOver { name, token, .. } => self.hand_over(life.node, name, token),
            Event::Act { name, .. } => self.act(life.node, name),
            Event::Read { name, .. } => self.read(life.node, name),
            // A wake-up for a deadline that has moved; the rest happens elsewhere.
            Event::Wake(_)
            | Event::Request { .. }
            | Event::Fault
            | Event::Restart { .. }
            | Event::Copy
            | Event::Lose
            | Event::Phase(_)
            | Event::Inspect => Ok(()),
        }
    }
}
