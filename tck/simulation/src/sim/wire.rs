//! The wire, and the storage at its end: what is lost, late, doubled, refused.

use std::time::Duration;

use simba_backends::{
    Acquired, Acquisition, BackendError, ErrorKind, Hint, KeepAlive, LeaseName, Outcome, Release,
};

use super::{
    super::engine::{Answer, Call, CallId},
    node::Life,
    world::{Event, World},
};
use crate::Checked;

impl World<'_> {
    pub(super) fn send(&mut self, n: usize, id: CallId, call: Call) {
        let from = self.nodes[n].life;
        let delay = self.delay();
        if self.befalls(self.wire.doubled) {
            let waited = self.lateness();
            self.after(delay + waited, Event::Request { from, id: None, call: call.clone(), waited });
        }
        if self.befalls(self.wire.lost_requests) {
            return;
        }
        let late = self.befalls(self.wire.late);
        let waited = if late { self.lateness() } else { Duration::ZERO };
        self.after(delay + waited, Event::Request { from, id: Some(id), call, waited });
    }

    fn delay(&mut self) -> Duration {
        self.rng.span(self.wire.delay) + Duration::from_micros(50)
    }

    /// Half of what is late is so by less than a round trip: that is what races.
    fn lateness(&mut self) -> Duration {
        let most = if self.rng.chance(500) { self.plan.call_timeout } else { self.plan.longest_delay() };
        self.rng.span(most)
    }

    fn befalls(&mut self, per_mille: u32) -> bool {
        let befalls = self.rng.chance(per_mille);
        self.counts.wire_faults += u64::from(befalls);
        befalls
    }

    /// A request reaches the storage and, having `waited` there for a lock, takes effect.
    pub(super) fn arrived(
        &mut self,
        from: Life,
        id: Option<CallId>,
        call: &Call,
        waited: Duration,
    ) -> Checked {
        let node = &self.nodes[from.node];
        if self.now < node.cut_off_until {
            return Ok(());
        }
        let is_awaited = node.life == from && id.is_some_and(|id| node.calls.contains_key(&id));
        if self.now < self.refuses_until {
            self.reply(from, id, refusal(call));
            return Ok(());
        }
        let answer = self.execute(call, waited, !is_awaited);
        self.trace.note(self.now, &from, || format!("storage   {from:?} {call:?} => {answer:?}"));
        self.hint_freed();
        for at in 0..self.elections.len() + self.locks.len() {
            let name = self.names().nth(at).cloned();
            name.map_or(Ok(()), |name| self.check_valid(&name))?;
        }
        if self.befalls(self.wire.lost_replies) {
            if self.rng.chance(300) {
                self.reply(from, id, failure(call, Outcome::Unknown));
            }
        } else {
            self.reply(from, id, answer);
        }
        Ok(())
    }

    fn reply(&mut self, to: Life, id: Option<CallId>, answer: Answer) {
        let Some(id) = id else { return };
        let mut delay = self.delay();
        if self.befalls(self.wire.slow) {
            delay += self.plan.call_timeout / 2 + self.rng.span(self.plan.call_timeout);
        }
        self.after(delay, Event::Reply { to, id, answer });
    }

    fn execute(&mut self, call: &Call, waited: Duration, late: bool) -> Answer {
        match call {
            Call::Open { .. } => Answer::Opened(Ok(self.store.open(self.now, self.plan.lease))),
            Call::KeepAlive { session } => {
                let answer = self.store.keep_alive(self.now, waited, session, self.plan.lease);
                Answer::KeptAlive(Ok(self.leave_open(answer)))
            }
            Call::Acquire { session, .. } if !self.store.is_live(self.now, session) => {
                Answer::Acquired(Ok(Acquired::Expired))
            }
            Call::Acquire { session, names } => {
                let mut answers = Vec::new();
                for name in names {
                    let answer = match self.name_fails() {
                        Some(Fails::Unapplied(error)) => Acquisition::Failed(error),
                        Some(Fails::Applied(error)) => {
                            self.store.acquire(self.now, session, name, late);
                            Acquisition::Failed(error)
                        }
                        None => self.store.acquire(self.now, session, name, late),
                    };
                    answers.push((name.clone(), answer));
                }
                Answer::Acquired(Ok(Acquired::Answers(answers)))
            }
            Call::Release { session, leases } => {
                let mut answers = Vec::new();
                for (name, token) in leases {
                    let fails = self.name_fails();
                    if !matches!(fails, Some(Fails::Unapplied(_))) {
                        self.store.release(session, name, *token);
                    }
                    let (Fails::Unapplied(error) | Fails::Applied(error)) = match fails {
                        Some(fails) => fails,
                        None => {
                            answers.push((name.clone(), Release::Gone));
                            continue;
                        }
                    };
                    answers.push((name.clone(), Release::Failed(error)));
                }
                Answer::Released(Ok(answers))
            }
            Call::Close { session } => {
                self.store.close(session);
                Answer::Closed(Ok(()))
            }
        }
    }

    fn name_fails(&mut self) -> Option<Fails> {
        if !self.befalls(self.wire.name_fails) {
            return None;
        }
        let error = |outcome| BackendError::new(ErrorKind::Unavailable, outcome, "the row is locked");
        Some(match self.rng.below(3) {
            0 => Fails::Unapplied(error(Outcome::NotApplied)),
            1 => Fails::Unapplied(error(Outcome::Unknown)),
            _ => Fails::Applied(error(Outcome::Unknown)),
        })
    }

    /// A part of the storage did not answer (S7).
    fn leave_open(&mut self, answer: KeepAlive) -> KeepAlive {
        match answer {
            KeepAlive::Live { remaining, mut owned, mut unknown, groups, server_elapsed } => {
                for name in self.names().cloned().collect::<Vec<_>>() {
                    if self.befalls(self.wire.unknown) {
                        owned.retain(|(owned, _)| *owned != name);
                        unknown.push(name);
                    }
                }
                KeepAlive::Live { remaining, owned, unknown, groups, server_elapsed }
            }
            KeepAlive::Expired => KeepAlive::Expired,
        }
    }

    fn hint_freed(&mut self) {
        for name in self.store.take_freed() {
            let watching = self.nodes.iter().filter(|node| node.names[&name].watched);
            let watching: Vec<_> = watching.map(|node| node.life).collect();
            let counted = self.rng.chance(500);
            for to in &watching {
                if !self.befalls(self.wire.lost_hints) {
                    let waiters = counted.then_some(u32::try_from(watching.len()).unwrap_or(u32::MAX));
                    let hint = Hint::Released { name: name.clone(), waiters };
                    let delay = self.delay();
                    self.after(delay, Event::Hint { to: *to, hint });
                }
            }
        }
    }

    /// All names, for those who change the world meanwhile.
    pub(super) fn all_names(&self) -> Vec<LeaseName> {
        self.names().cloned().collect()
    }
}

enum Fails {
    Unapplied(BackendError),
    Applied(BackendError),
}

fn refusal(call: &Call) -> Answer {
    failure(call, Outcome::NotApplied)
}

fn failure(call: &Call, outcome: Outcome) -> Answer {
    let error = BackendError::new(ErrorKind::Unavailable, outcome, "the storage is away");
    match call {
        Call::Open { .. } => Answer::Opened(Err(error)),
        Call::KeepAlive { .. } => Answer::KeptAlive(Err(error)),
        Call::Acquire { .. } => Answer::Acquired(Err(error)),
        Call::Release { .. } => Answer::Released(Err(error)),
        Call::Close { .. } => Answer::Closed(Err(error)),
    }
}
