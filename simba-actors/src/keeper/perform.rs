//! What the engine decided is done here: terms are published first, then whoever asked is told.

use simba_backends::{LeaseName, SessionId, Token};
use tracing::{debug, info, warn};

use super::{Keeper, Next};
use crate::{
    backend::Told,
    engine::{Effect, Input, Instant, Notice, Reason},
    term::{Lapsed, Term},
};

impl Keeper {
    /// A hand-over that is complete leaves nothing to publish.
    pub(super) fn before(&mut self, input: &Input) {
        if let Input::HandedOver { name, token } = input {
            self.forget(name, *token);
        }
    }

    /// What is told from now on knows of the request.
    pub(super) fn heard(&self, name: LeaseName) {
        self.tell(Told::Heard { name });
    }

    pub(super) fn perform(&mut self, now: Instant, effects: Vec<Effect>) -> Next {
        let mut next = Next::Step;
        for effect in effects {
            if let Effect::Closed { .. } = effect {
                next = Next::Stop;
            }
            self.perform_one(now, effect);
        }
        next
    }

    fn perform_one(&mut self, now: Instant, effect: Effect) {
        match effect {
            Effect::Call { id, call } => self.calls.send(id, call),
            Effect::Abandon(id) => self.calls.abandon(id),
            Effect::Started { name, token, session, valid_until } => {
                self.started(name, token, session, valid_until);
            }
            Effect::Extended { name, token, valid_until } => self.extended(now, &name, token, valid_until),
            Effect::Ending { name, token, reason, hand_over_by: _ } => self.ending(&name, token, reason),
            Effect::Ended { name, token, reason } => self.ended(&name, token, reason),
            Effect::Overdue { name, token } => self.overdue(&name, token),
            Effect::Refused { name, free_in } => {
                debug!(%name, ?free_in, "held by another");
                self.tell(Told::Refused { name });
            }
            Effect::Failed { name, failures, error } => {
                if failures.is_power_of_two() {
                    warn!(%name, failures, %error, "attempt failed");
                } else {
                    debug!(%name, failures, %error, "attempt failed");
                }
                self.tell(Told::Failed { name, error });
            }
            Effect::Settled { name, confirmed } => {
                if !confirmed {
                    warn!(%name, "release not confirmed in time; the lease ends with the session");
                }
                self.tell(Told::Settled { name });
            }
            Effect::Watch(name) => self.hints.iter_mut().for_each(|hints| hints.want(&name)),
            Effect::Unwatch(name) => self.hints.iter_mut().for_each(|hints| hints.unwant(&name)),
            Effect::Notice(notice) => {
                log(&notice);
                self.tell(Told::Notice(notice));
            }
            Effect::Closed { unfreed, free_at } => {
                let free_in = free_at.map(|at| now.until(at));
                info!(unfreed = unfreed.len(), "closed");
                self.tell(Told::Closed { unfreed, free_in });
            }
        }
    }

    fn started(&mut self, name: LeaseName, token: Token, session: SessionId, valid_until: Instant) {
        let term = Term::start(name, token, session, self.clock, valid_until);
        self.terms.insert(term.clone());
        self.tell(Told::Started(term));
    }

    /// Extends the published deadline, unless somebody saw it pass: validity falls once (R2).
    fn extended(&mut self, now: Instant, name: &LeaseName, token: Token, valid_until: Instant) {
        let Some(term) = self.terms.get(name).filter(|term| term.token() == token) else { return };
        if let Err(Lapsed) = term.extend(now, valid_until) {
            self.pending.push_back(Input::Lapsed { name: name.clone(), token });
        }
    }

    fn ending(&mut self, name: &LeaseName, token: Token, reason: Reason) {
        let Some(term) = self.terms.get(name).filter(|term| term.token() == token) else { return };
        term.freeze(reason);
        // The deadline may have been seen to pass first.
        let reason = term.reason().unwrap_or(reason);
        self.tell(Told::Ending(term.clone(), reason));
    }

    fn ended(&mut self, name: &LeaseName, token: Token, reason: Reason) {
        let Some(term) = self.forget(name, token) else { return };
        term.end(reason);
        let reason = term.reason().unwrap_or(reason);
        self.tell(Told::Ended(term, reason));
    }

    fn overdue(&mut self, name: &LeaseName, token: Token) {
        let Some(term) = self.forget(name, token) else { return };
        term.end(Reason::Deadline);
        self.tell(Told::Overdue(term));
    }

    fn forget(&mut self, name: &LeaseName, token: Token) -> Option<Term> {
        self.terms.get(name).filter(|term| term.token() == token)?;
        self.terms.remove(name)
    }

    /// Told in order, and never refused: nothing here waits for a mailbox.
    fn tell(&self, told: Told) {
        self.outlet.do_send(told);
    }
}

fn log(notice: &Notice) {
    match notice {
        Notice::SessionOpened { session } => info!(%session, "session opened"),
        // At each doubling: a storage may be gone for days.
        Notice::OpenFailed { failures, error } if failures.is_power_of_two() => {
            warn!(failures, %error, "session not opened");
        }
        Notice::OpenFailed { failures, error } => debug!(failures, %error, "session not opened"),
        Notice::RenewFailed { failures, error } if failures.is_power_of_two() => {
            warn!(failures, %error, "keep-alive failed");
        }
        Notice::RenewFailed { failures, error } => debug!(failures, %error, "keep-alive failed"),
        Notice::Suspended { remaining } => warn!(?remaining, "session suspended"),
        Notice::Resumed => info!("session resumed"),
        Notice::SessionExpired { session } => warn!(%session, "session expired"),
        Notice::Released { name, token } => debug!(%name, %token, "released"),
        Notice::TokenRegressed { name, token, floor } => {
            warn!(%name, %token, %floor, "the storage granted a token again: it lost data");
        }
        Notice::ClockStep { local, server } => {
            warn!(
                ?local,
                ?server,
                "the storage's clock stepped, or runs wrong, or lost a session, or another contends with a longer lease"
            );
        }
    }
}
