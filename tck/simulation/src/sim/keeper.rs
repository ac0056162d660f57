//! The keeper's loop, without its runtime: step at an input or at the deadline, perform the effects.

use std::time::Duration;

use simba_backends::{Acquired, Acquisition, LeaseName, SessionId, Token};

use super::{
    super::engine::{Answer, Call, CallId, Effect, Input, Instant, Moment},
    world::{Event, World},
};
use crate::{Checked, outcome::conduct};

/// What one step was told and has said so far: later effects are judged by it.
#[derive(Debug, Default)]
pub(super) struct Context {
    pub(super) granted: Vec<(LeaseName, Token)>,
    pub(super) regressed: Option<(LeaseName, Token)>,
    pub(super) lapsed: Option<(LeaseName, Token)>,
    /// A session whose opening was answered: it must be taken or closed.
    pub(super) opened: Option<SessionId>,
    /// An attempt had no answer, so a keep-alive must tell (R8).
    pub(super) in_doubt: bool,
    /// Terms whose extension came too late: another thread has seen the deadline pass.
    pub(super) missed: Vec<(LeaseName, Token)>,
    pub(super) closed: bool,
    /// The input asks for it: what comes due first is still judged by how things were.
    pub(super) closes: bool,
    pub(super) settles: Option<LeaseName>,
}

impl World<'_> {
    /// Lets a node's engine take one step, and holds it to its rules.
    pub(super) fn step(&mut self, n: usize, input: Input) -> Checked {
        let now = self.nodes[n].local(self.now);
        let mut context = self.told(n, &input);
        self.trace.note(self.now, &n, || format!("node {n} {now:?} <- {input:?}"));
        let chance = self.rng.draw();
        let Some(engine) = &mut self.nodes[n].engine else { return Ok(()) };
        let effects = engine.step(Moment { now, chance }, input);
        self.counts.steps += 1;
        for effect in effects {
            self.trace.note(self.now, &effect, || format!("node {n}           -> {effect:?}"));
            self.perform(n, effect, &mut context)?;
        }
        self.check_step(n, &context)?;
        if context.closed {
            return self.closed_down(n);
        }
        self.schedule_wake(n)?;
        for (name, token) in context.missed {
            self.step(n, Input::Lapsed { name, token })?;
        }
        Ok(())
    }

    fn told(&mut self, n: usize, input: &Input) -> Context {
        let mut context = Context::default();
        match input {
            Input::Answer { answer: Answer::Acquired(Ok(Acquired::Answers(answers))), .. } => {
                for (name, answer) in answers {
                    if let Acquisition::Granted { token, .. } = answer {
                        context.granted.push((name.clone(), *token));
                    }
                }
            }
            Input::Answer { answer: Answer::Opened(Ok(opened)), .. } => {
                context.opened = Some(opened.session.clone());
            }
            Input::Lapsed { name, token } => context.lapsed = Some((name.clone(), *token)),
            Input::Close => {
                context.closes = true;
                let node = &mut self.nodes[n];
                node.names.values_mut().for_each(|wish| wish.wanted = false);
                let terms = node.names.values().filter_map(|wish| wish.term.as_ref());
                let last = terms.map(|term| term.valid_until).max().unwrap_or_default();
                let now = node.local(self.now);
                // "One call time-out" for the calls in flight, one for the close.
                node.close_by = Some(last.max(now + self.plan.call_timeout) + self.plan.call_timeout);
            }
            Input::Withdraw { name, .. } | Input::StandDown { name, .. } => {
                context.settles = Some(name.clone());
            }
            Input::Tick
            | Input::Contend { .. }
            | Input::HandedOver { .. }
            | Input::Hint(_)
            | Input::Answer { .. } => {}
        }
        context
    }

    fn perform(&mut self, n: usize, effect: Effect, context: &mut Context) -> Checked {
        match effect {
            Effect::Call { id, call } => self.call(n, id, call, context),
            Effect::Abandon(id) => self.abandoned(n, id, context),
            Effect::Started { name, token, session, valid_until } => {
                self.started(n, &name, token, session, valid_until, context)
            }
            Effect::Extended { name, token, valid_until } => {
                self.extended(n, &name, token, valid_until, context)
            }
            Effect::Ending { name, token, hand_over_by, .. } => self.ending(n, &name, token, hand_over_by),
            Effect::Ended { name, token, reason } => self.ended(n, &name, token, reason, context),
            Effect::Overdue { name, token } => self.overdue(n, &name, token),
            Effect::Settled { name, confirmed } => self.settled(n, &name, confirmed, context),
            Effect::Refused { .. } | Effect::Failed { .. } => Ok(()),
            Effect::Watch(name) => self.watch(n, &name, true),
            Effect::Unwatch(name) => self.watch(n, &name, false),
            Effect::Notice(notice) => self.noticed(n, notice, context),
            Effect::Closed { unfreed, free_at } => self.closed(n, &unfreed, free_at, context),
        }
    }

    fn watch(&mut self, n: usize, name: &LeaseName, on: bool) -> Checked {
        let wish = self.nodes[n].wish(name);
        let changes = std::mem::replace(&mut wish.watched, on) != on;
        conduct(changes, "R3", || format!("node {n} asks twice for the same about hints of {name}"))
    }

    /// R12, I11: something is always going to happen, and not in the past.
    fn schedule_wake(&mut self, n: usize) -> Checked {
        let node = &self.nodes[n];
        let Some(engine) = &node.engine else { return Ok(()) };
        let Some((at, what)) = engine.deadline() else {
            return conduct(false, "I11", || format!("node {n} waits for nothing"));
        };
        let now = node.local(self.now);
        conduct(at > now, "I11", || format!("node {n} spins at {now:?}: {what} is due at {at:?}"))?;
        let wake_at = node.true_at(at).max(self.now + Duration::from_nanos(1));
        if node.wake_at != Some(wake_at) {
            let life = node.life;
            self.nodes[n].wake_at = Some(wake_at);
            self.after(wake_at - self.now, Event::Wake(life));
        }
        Ok(())
    }

    /// An answer has arrived; sometimes also one that nobody waits for any more.
    pub(super) fn replied(&mut self, n: usize, id: CallId, answer: Answer) -> Checked {
        let unasked = self.rng.chance(self.wire.unasked);
        let node = &mut self.nodes[n];
        match node.calls.remove(&id) {
            Some(sent) => {
                node.answered = Some((id, sent.clone()));
                self.confirmed(n, &sent.call, sent.at, &answer);
            }
            None if unasked => node.answered = None,
            None => return Ok(()),
        }
        self.step(n, Input::Answer { call: id, answer })?;
        self.nodes[n].answered = None;
        Ok(())
    }

    fn confirmed(&mut self, n: usize, call: &Call, sent_at: Instant, answer: &Answer) {
        use simba_backends::KeepAlive::Live;
        let node = &mut self.nodes[n];
        match (call, answer) {
            (Call::KeepAlive { session }, Answer::KeptAlive(answer)) => {
                node.is_suspended = answer.is_err();
                if let Ok(Live { .. }) = answer
                    && node.session.as_ref() == Some(session)
                {
                    node.confirmed_at = sent_at;
                }
            }
            (Call::Open { .. }, Answer::Opened(Ok(_))) => {
                node.open_sent_at = sent_at;
            }
            _ => {}
        }
    }
}
