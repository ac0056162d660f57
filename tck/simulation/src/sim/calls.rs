//! What a node asks of the storage, and what it may ask (R6 to R12, R14, R17, R19, R20).

use simba_backends::{LeaseName, SessionId};

use super::{
    super::engine::{Call, CallId, Instant, Notice},
    keeper::Context,
    node::{Node, Sent, Stage, Wish},
    world::World,
};
use crate::{Checked, Premise, outcome::conduct};

impl World<'_> {
    pub(super) fn call(&mut self, n: usize, id: CallId, call: Call, context: &mut Context) -> Checked {
        let now = self.nodes[n].local(self.now);
        let lease = self.plan.lease;
        let node = &mut self.nodes[n];
        node.is_alone(n, &call)?;
        let asks = |session: &SessionId| {
            let present = node.session.as_ref() == Some(session);
            conduct(present, "R10", || format!("node {n} asks for {session}, which it no longer has"))?;
            let fresh = now < node.confirmed_at + lease;
            conduct(fresh, "R11", || format!("node {n} asks for {session}, a lease after its confirmation"))
        };
        match &call {
            Call::Open { .. } => node.still_open(n, context)?,
            Call::KeepAlive { session } => {
                asks(session)?;
                node.still_open(n, context)?;
                context.in_doubt = false;
            }
            Call::Acquire { session, names } => {
                asks(session)?;
                node.still_open(n, context)?;
                names.iter().try_for_each(|name| node.may_attempt(n, name, now))?;
            }
            Call::Release { session, leases } => {
                asks(session)?;
                for (name, token) in leases {
                    let wish = node.wish(name);
                    let over = wish
                        .term
                        .as_ref()
                        .is_none_or(|term| term.token != *token || term.stage == Stage::HandedOver);
                    conduct(over, "R4", || format!("node {n} releases {name} {token} while its term lasts"))?;
                    wish.floor = wish.floor.max(Some(*token));
                    node.releasing.insert((name.clone(), *token));
                }
            }
            Call::Close { session } => {
                context.opened.take_if(|opened| opened == session);
                let terms = node.names.values().filter_map(|wish| wish.term.as_ref());
                let mut lasting =
                    terms.filter(|term| term.session == *session && term.stage != Stage::HandedOver);
                let over = lasting.next().is_none();
                conduct(over, "R4", || format!("node {n} closes {session} while a term of it lasts"))?;
            }
        }
        node.calls.insert(id, Sent { call: call.clone(), at: now, floors: node.floors(&call) });
        self.send(n, id, call);
        Ok(())
    }

    pub(super) fn abandoned(&mut self, n: usize, id: CallId, context: &mut Context) -> Checked {
        let node = &mut self.nodes[n];
        // An answer that is handled after the time-out comes too late (R2).
        let answered = node.answered.take_if(|(answered, _)| *answered == id).map(|(_, sent)| sent);
        let Some(sent) = node.calls.remove(&id).or(answered) else {
            return conduct(false, "R9", || format!("node {n} abandons {id:?}, which is not in flight"));
        };
        match &sent.call {
            Call::KeepAlive { .. } => node.is_suspended = true,
            Call::Acquire { .. } if node.session.is_some() => {
                context.in_doubt |= node.floors(&sent.call) == sent.floors;
            }
            Call::Open { .. } | Call::Acquire { .. } | Call::Release { .. } | Call::Close { .. } => {}
        }
        Ok(())
    }

    pub(super) fn noticed(&mut self, n: usize, notice: Notice, context: &mut Context) -> Checked {
        match notice {
            Notice::SessionOpened { session } => {
                let fresh = self.session_ids.insert(session.clone());
                conduct(fresh, "I7", || format!("node {n} opens {session}, which lived before"))?;
                context.opened.take_if(|opened| *opened == session);
                let node = &mut self.nodes[n];
                node.session = Some(session);
                node.confirmed_at = node.open_sent_at;
                node.is_suspended = false;
            }
            Notice::SessionExpired { .. } => {
                self.nodes[n].session = None;
                self.nodes[n].releasing.clear();
            }
            Notice::Released { name, token } => {
                self.nodes[n].releasing.remove(&(name, token));
            }
            Notice::TokenRegressed { name, token, .. } => {
                self.counts.token_alarms += 1;
                let lost = self.plan.premise == Some(Premise::LostWrites);
                let granted = context.granted.contains(&(name.clone(), token));
                let what = || format!("node {n} says that {name} {token} regressed");
                conduct(lost && granted, "R19", what)?;
                context.regressed = Some((name, token));
            }
            Notice::ClockStep { local, server } => {
                self.counts.clock_alarms += 1;
                let compare = self.plan.premise.is_none() && self.plan.clocks_compare();
                conduct(!compare, "R20", || format!("node {n} sees a clock step: {local:?} {server:?}"))?;
            }
            Notice::OpenFailed { .. }
            | Notice::RenewFailed { .. }
            | Notice::Suspended { .. }
            | Notice::Resumed => {}
        }
        Ok(())
    }

    pub(super) fn settled(
        &mut self,
        n: usize,
        name: &LeaseName,
        confirmed: bool,
        context: &Context,
    ) -> Checked {
        let node = &mut self.nodes[n];
        let now = node.local(self.now);
        let session = node.session.clone();
        let closing = node.close_by.is_some();
        let wish = node.wish(name);
        let asks = context.settles.as_ref() == Some(name);
        let asked = wish.settle_by.take().is_some() || closing || asks;
        let asked = asked || std::mem::take(&mut wish.may_settle);
        wish.may_settle |= asks;
        conduct(asked, "I14", || format!("node {n} says unasked that {name} is settled"))?;
        if wish.wanted && now >= wish.stands_out_until {
            return Ok(());
        }
        let over = wish.term.as_ref().is_none_or(|term| term.stage == Stage::HandedOver);
        conduct(over, "R17", || format!("node {n} says that {name} is settled while its term lasts"))?;
        let on_its_way = self.nodes[n].calls.values().any(|sent| sent.asks_for(name));
        let what = || format!("node {n} confirms that {name} is free: an attempt is on its way");
        conduct(!(confirmed && on_its_way), "R5", what)?;
        let holder = self.store.holder(self.now, name).map(|(holder, _)| holder);
        let holds = holder.is_some() && holder == session.as_ref() && !self.store.was_late(name);
        let holds = holds && self.plan.premise.is_none();
        conduct(!(confirmed && holds), "R5", || format!("node {n} confirms that {name} is free: it is not"))
    }

    pub(super) fn closed(
        &mut self,
        n: usize,
        unfreed: &[LeaseName],
        free_at: Option<Instant>,
        context: &mut Context,
    ) -> Checked {
        context.closed = true;
        let node = &self.nodes[n];
        conduct(node.close_by.is_some(), "R14", || format!("node {n} closes unasked"))?;
        // A storage that loses writes brings sessions back.
        let Some(session) = node.session.as_ref().filter(|_| self.plan.premise.is_none()) else {
            return Ok(());
        };
        let expires_at = self.store.expires_at(session);
        let gone = free_at.is_some() || !self.store.is_live(self.now, session);
        conduct(gone, "I8", || format!("node {n} has closed {session}: it lives"))?;
        let holds =
            |name: &&LeaseName| self.store.holder(self.now, name).is_some_and(|(id, _)| id == session);
        for name in self.names().filter(holds) {
            let told = unfreed.contains(name) || self.store.was_late(name);
            conduct(told, "R14", || format!("node {n} has closed and keeps quiet about {name}"))?;
            let by = free_at.map(|at| node.true_at(at));
            let true_by = by >= expires_at;
            conduct(true_by, "R14", || format!("{name} is free at {expires_at:?}, not at {by:?}"))?;
        }
        Ok(())
    }

    /// What must be true of a node after each of its steps.
    pub(super) fn check_step(&mut self, n: usize, context: &Context) -> Checked {
        let node = &self.nodes[n];
        let now = node.local(self.now);
        if !context.closed {
            let opened = &context.opened;
            conduct(opened.is_none(), "R14", || format!("node {n} neither takes nor closes {opened:?}"))?;
            let in_time = node.close_by.is_none_or(|by| now < by);
            conduct(in_time, "R14", || format!("node {n} is still closing"))?;
            let keeps_alive = node.calls.values().any(|sent| matches!(sent.call, Call::KeepAlive { .. }));
            let may_ask = node.session.is_some() && !node.is_suspended && node.close_by.is_none();
            let asks = !context.in_doubt || keeps_alive || !may_ask;
            conduct(asks, "R8", || format!("node {n} does not ask what became of its attempt"))?;
        }
        for (name, wish) in &node.names {
            wish.check(n, name, now, node.session.is_some() && !context.closed)?;
        }
        let Some((name, token)) = &context.lapsed else { return Ok(()) };
        let runs = node.names[name]
            .term
            .as_ref()
            .is_some_and(|term| term.token == *token && term.stage == Stage::Latched);
        conduct(!runs, "R2", || format!("node {n} leads {name} {token} on, whose deadline was seen to pass"))
    }
}

impl Wish {
    fn check(&self, n: usize, name: &LeaseName, now: Instant, live: bool) -> Checked {
        let in_time = self.settle_by.is_none_or(|by| now < by);
        conduct(in_time, "R17", || format!("node {n} does not settle {name}"))?;
        let Some(term) = &self.term else { return Ok(()) };
        conduct(live, "R11", || format!("node {n} leads {name} without a session"))?;
        let ends = now < term.valid_until || term.stage == Stage::HandedOver;
        conduct(ends, "R2", || format!("node {n} leads {name} past its deadline: {term:?}"))
    }
}

impl Sent {
    fn asks_for(&self, name: &LeaseName) -> bool {
        match &self.call {
            Call::Acquire { names, .. } => names.contains(name),
            Call::Open { .. } | Call::KeepAlive { .. } | Call::Release { .. } | Call::Close { .. } => false,
        }
    }
}

impl Node {
    /// R9, I12: of each kind that has an answer to wait for, one call is in flight.
    fn is_alone(&self, n: usize, call: &Call) -> Checked {
        let kind = std::mem::discriminant(call);
        let mut others = self.calls.values().filter(|sent| std::mem::discriminant(&sent.call) == kind);
        let alone = matches!(call, Call::Open { .. } | Call::Close { .. }) || others.next().is_none();
        conduct(alone, "I12", || format!("node {n} sends a second {call:?}"))
    }

    fn still_open(&self, n: usize, context: &Context) -> Checked {
        let open = self.close_by.is_none() || context.closes;
        conduct(open, "R14", || format!("node {n} asks for more while it closes"))
    }

    fn may_attempt(&mut self, n: usize, name: &LeaseName, now: Instant) -> Checked {
        let releasing = self.releasing.iter().any(|(releasing, _)| releasing == name);
        conduct(!releasing, "R7", || format!("node {n} attempts {name} before its release is confirmed"))?;
        let wish = self.wish(name);
        let wants = wish.wanted && now >= wish.stands_out_until;
        conduct(wants, "R17", || format!("node {n} attempts {name}, which nobody wants"))?;
        let idle = wish.term.as_ref().is_none_or(|term| term.stage == Stage::HandedOver);
        conduct(idle, "R7", || format!("node {n} attempts {name}, which it holds"))
    }

    fn floors(&self, call: &Call) -> Vec<Option<simba_backends::Token>> {
        match call {
            Call::Acquire { names, .. } => names.iter().map(|name| self.names[name].floor).collect(),
            Call::Open { .. } | Call::KeepAlive { .. } | Call::Release { .. } | Call::Close { .. } => {
                Vec::new()
            }
        }
    }
}
