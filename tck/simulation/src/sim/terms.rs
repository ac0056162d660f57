//! What a node says about its terms, and what it may say (R1 to R5, I5).

use simba_backends::{LeaseName, SessionId, Token};

use super::{
    super::engine::{Instant, Reason},
    keeper::Context,
    node::{Stage, Term},
    world::{Event, World},
};
use crate::{Checked, outcome::conduct};

impl World<'_> {
    pub(super) fn started(
        &mut self,
        n: usize,
        name: &LeaseName,
        token: Token,
        session: SessionId,
        valid_until: Instant,
        context: &Context,
    ) -> Checked {
        let is_lock = self.locks.contains(name);
        let node = &mut self.nodes[n];
        let now = node.local(self.now);
        let own = node.session.as_ref() == Some(&session);
        conduct(own, "R10", || format!("node {n} leads {name} {token} in a session that it has not"))?;
        conduct(valid_until > now, "R7", || format!("node {n} starts {name} {token} past its deadline"))?;
        let wish = node.wish(name);
        let over = wish.term.as_ref().is_none_or(|term| term.stage == Stage::HandedOver);
        conduct(over, "R3", || format!("node {n} starts {name} {token} before the last term ended"))?;
        let out = now < wish.stands_out_until || !wish.wanted;
        conduct(!out, "R5", || format!("node {n} starts {name} {token}, which nobody wants"))?;
        let announced = context.regressed.as_ref() == Some(&(name.clone(), token));
        let new = Some(token) > wish.floor || announced;
        conduct(new, "R1", || format!("node {n} starts {name} {token}, floor {:?}", wish.floor))?;
        wish.floor = Some(token);
        wish.wanted &= !is_lock;
        wish.term = Some(Term { token, session, valid_until, stage: Stage::Running });
        self.counts.terms += 1;
        if self.newest.get(name).is_some_and(|(node, _)| *node != n) {
            self.counts.hand_overs += 1;
        }
        self.check_newest(n, name, token)?;
        self.check_deadline(n, name)?;
        self.check_valid(name)?;
        if is_lock {
            self.schedule_act(n, name);
        }
        Ok(())
    }

    /// The deadline is published only from a value that has not passed (R2): the keeper may have been
    /// held up since the step, and another thread have looked at the clock.
    pub(super) fn extended(
        &mut self,
        n: usize,
        name: &LeaseName,
        token: Token,
        valid_until: Instant,
        context: &mut Context,
    ) -> Checked {
        let looked = self.rng.chance(50).then(|| self.rng.span(self.plan.lease / 2));
        let node = &mut self.nodes[n];
        let now = node.local(self.now);
        let term = node
            .wish(name)
            .term
            .as_mut()
            .filter(|term| matches!(term.stage, Stage::Running | Stage::Latched) && term.token == token);
        let Some(term) = term else {
            return conduct(false, "R4", || format!("node {n} extends {name} {token}, which does not run"));
        };
        let passed = term.valid_until <= now;
        conduct(!passed, "R2", || format!("node {n} extends {name} {token} after its deadline"))?;
        let later = valid_until > term.valid_until;
        conduct(later, "R2", || format!("node {n} extends {name} {token} backwards"))?;
        if looked.is_some_and(|later| now + later >= term.valid_until) {
            term.stage = Stage::Latched;
        }
        if term.stage == Stage::Latched {
            context.missed.push((name.clone(), token));
            return Ok(());
        }
        term.valid_until = valid_until;
        self.check_deadline(n, name)
    }

    pub(super) fn ending(&mut self, n: usize, name: &LeaseName, token: Token, by: Instant) -> Checked {
        let never = self.wire.lost_requests > 0 && self.rng.chance(150);
        let most = if self.rng.chance(500) { self.plan.lease / 100 } else { self.plan.lease };
        let node = &mut self.nodes[n];
        let life = node.life;
        let now = node.local(self.now);
        let term = node
            .wish(name)
            .term
            .as_mut()
            .filter(|term| matches!(term.stage, Stage::Running | Stage::Latched) && term.token == token);
        let Some(term) = term else {
            return conduct(false, "R3", || format!("node {n} ends {name} {token}, which does not run"));
        };
        let frozen = by == term.valid_until || (term.stage == Stage::Latched && by > now);
        conduct(frozen, "R4", || format!("node {n} hands {name} {token} over by {by:?}: {term:?}"))?;
        term.stage = Stage::Ending;
        if !never {
            let name = name.clone();
            let resolves = self.rng.span(most);
            self.after(resolves, Event::HandedOver { life, name, token });
        }
        Ok(())
    }

    pub(super) fn ended(
        &mut self,
        n: usize,
        name: &LeaseName,
        token: Token,
        reason: Reason,
        context: &Context,
    ) -> Checked {
        let node = &mut self.nodes[n];
        let now = node.local(self.now);
        let term = node
            .wish(name)
            .term
            .take_if(|term| matches!(term.stage, Stage::Running | Stage::Latched) && term.token == token);
        let Some(term) = term else {
            return conduct(false, "R3", || format!("node {n} revokes {name} {token}, which does not run"));
        };
        let lapsed = context.lapsed.as_ref() == Some(&(name.clone(), token));
        let due = reason != Reason::Deadline || term.valid_until <= now || lapsed;
        conduct(due, "R6", || format!("node {n} revokes {name} {token} before its deadline"))?;
        let held = self.store.holder(self.now, name) == Some((&term.session, token));
        // What was lost with the newest writes may come back with later ones.
        let lost = reason != Reason::LeaseLost || !held || self.plan.premise.is_some();
        conduct(lost, "R6", || format!("node {n} gives {name} {token} up as lost: the storage has it"))
    }

    pub(super) fn overdue(&mut self, n: usize, name: &LeaseName, token: Token) -> Checked {
        let node = &mut self.nodes[n];
        let now = node.local(self.now);
        let no_session = node.session.is_none();
        let term = node
            .wish(name)
            .term
            .take_if(|term| matches!(term.stage, Stage::Ending | Stage::HandedOver) && term.token == token);
        let Some(term) = term else {
            return conduct(false, "R3", || format!("node {n} gives {name} {token} up, which is not ending"));
        };
        let held = self.store.holder(self.now, name) == Some((&term.session, token));
        let due = now >= term.valid_until || no_session || !held;
        conduct(due, "R4", || format!("node {n} does not wait for the hand-over of {name} {token}"))
    }

    /// The handlers of a term that is ending have resolved.
    pub(super) fn hand_over(&mut self, n: usize, name: LeaseName, token: Token) -> Checked {
        if let Some(term) = &mut self.nodes[n].wish(&name).term
            && term.token == token
            && term.stage == Stage::Ending
        {
            term.stage = Stage::HandedOver;
        }
        self.step(n, super::super::engine::Input::HandedOver { name: name.clone(), token })?;
        let term = &mut self.nodes[n].wish(&name).term;
        term.take_if(|term| term.stage == Stage::HandedOver);
        Ok(())
    }
}
