//! What is owned: the one entrance for all evidence of ownership, and the ends of a term.

use simba_backends::{LeaseName, Token};

use super::{
    Effect, Engine, Instant, Notice, Reason, Timer,
    lease::{Held, Stage},
};

impl Engine {
    /// Whether that token is held here, be it for a term that runs or one that is handed over.
    pub(super) fn holds(&self, name: &LeaseName, token: Token) -> bool {
        self.leases.get(name).and_then(|lease| lease.held()).is_some_and(|held| held.token == token)
    }

    /// A keep-alive listed it, or an attempt answered that it was ours already.
    pub(super) fn claim_listed(&mut self, name: &LeaseName, token: Token, valid_until: Instant) {
        self.claim(name, token, valid_until, self.floors.get(name));
    }

    /// An attempt answered `Granted`. `floor` is what it was when the attempt was sent: a fresh grant at
    /// or below *that* means that the storage lost tokens (R19), and the floor follows.
    pub(super) fn claim_granted(
        &mut self,
        name: &LeaseName,
        token: Token,
        valid_until: Instant,
        floor: Option<Token>,
    ) {
        if let Some(floor) = floor.filter(|floor| token <= *floor)
            && !self.holds(name, token)
        {
            self.notice(Notice::TokenRegressed { name: name.clone(), token, floor });
            self.claim(name, token, valid_until, None);
        } else {
            self.claim(name, token, valid_until, self.floors.get(name));
        }
    }

    /// R7: the token held is nothing new; else a term starts if somebody here wants the name, the
    /// deadline is ahead and the token is above the floor (R1); else it is released.
    fn claim(&mut self, name: &LeaseName, token: Token, valid_until: Instant, floor: Option<Token>) {
        if self.holds(name, token) {
            return;
        }
        let is_new = Some(token) > floor;
        if is_new && self.leases.get(name).and_then(|lease| lease.held()).is_some() {
            // A newer token is ours, so the one we held was lost and taken again by a late attempt.
            self.end(name, Reason::LeaseLost);
        }
        if is_new && valid_until > self.now && self.may_start(name) {
            self.start(name, token, valid_until);
        } else {
            self.release(name, token);
        }
    }

    fn may_start(&self, name: &LeaseName) -> bool {
        let Some(lease) = self.leases.get(name) else { return false };
        let wanted = lease.wanted.is_some() && !lease.stands_out && self.closing.is_none();
        wanted && lease.held().is_none() && !self.releases.pending(name)
    }

    fn start(&mut self, name: &LeaseName, token: Token, valid_until: Instant) {
        let Some(session) = self.live().map(|live| live.id.clone()) else { return };
        // Who still waits to hear that nothing is left is told now: from here on something is.
        self.settled(name, false);
        self.stop_waiting(name);
        self.unwatch(name);
        self.floors.set(name, token);
        let ticket = self.next_ticket();
        let Some(lease) = self.leases.get_mut(name) else { return };
        lease.failures = 0;
        if lease.wanted == Some(super::Goal::OneTerm) {
            lease.wanted = None;
        }
        lease.stage = Stage::Held(Held { token, ticket, valid_until, hand_over: None });
        self.timers.set(Timer::Deadline(name.clone()), valid_until);
        self.emit(Effect::Started { name: name.clone(), token, session, valid_until });
    }

    /// The timer was set when the term started; keep-alives may have moved the deadline since.
    pub(super) fn deadline_passed(&mut self, name: &LeaseName) {
        let Some(held) = self.leases.get(name).and_then(|lease| lease.held()) else { return };
        if held.valid_until > self.now {
            let valid_until = held.valid_until;
            self.timers.set(Timer::Deadline(name.clone()), valid_until);
        } else {
            self.run_out(name);
        }
    }

    /// Another thread saw the published deadline pass before it could be extended: validity falls once.
    pub(super) fn lapsed(&mut self, name: &LeaseName, token: Token) {
        let held = self.leases.get(name).and_then(|lease| lease.held());
        if held.is_some_and(|held| held.token == token && held.hand_over.is_none()) {
            self.run_out(name);
        }
    }

    /// R11: the term ends here; the lease, which may still be ours, is released and acquired anew.
    fn run_out(&mut self, name: &LeaseName) {
        let Some(token) = self.leases.get(name).and_then(|lease| lease.held()).map(|held| held.token) else {
            return;
        };
        self.end(name, Reason::Deadline);
        self.release(name, token);
    }

    /// A forced end: at once, whatever the handlers do.
    pub(super) fn end(&mut self, name: &LeaseName, reason: Reason) {
        let Some(held) = self.leases.get(name).and_then(|lease| lease.held()) else { return };
        let (token, handing_over) = (held.token, held.hand_over.is_some());
        self.drop_held(name);
        if handing_over {
            self.emit(Effect::Overdue { name: name.clone(), token });
        } else {
            self.emit(Effect::Ended { name: name.clone(), token, reason });
        }
    }

    /// R4: the term is invalid from now on; the lease stays for as long as it would have been valid.
    pub(super) fn begin_hand_over(&mut self, name: &LeaseName, held: &Held, reason: Reason) {
        let (token, by) = (held.token, held.valid_until);
        if let Some(held) = self.leases.get_mut(name).and_then(|lease| lease.held_mut()) {
            held.hand_over = Some(by);
        }
        self.timers.cancel(&Timer::Deadline(name.clone()));
        self.timers.set(Timer::HandOver(name.clone()), by);
        self.emit(Effect::Ending { name: name.clone(), token, reason, hand_over_by: by });
    }

    pub(super) fn handed_over(&mut self, name: &LeaseName, token: Token) {
        let held = self.leases.get(name).and_then(|lease| lease.held());
        if held.is_some_and(|held| held.token == token && held.hand_over.is_some()) {
            self.drop_held(name);
            self.release(name, token);
        }
    }

    pub(super) fn hand_over_timed_out(&mut self, name: &LeaseName) {
        let Some(token) = self.leases.get(name).and_then(|lease| lease.held()).map(|held| held.token) else {
            return;
        };
        self.emit(Effect::Overdue { name: name.clone(), token });
        self.handed_over(name, token);
    }

    fn drop_held(&mut self, name: &LeaseName) {
        self.timers.cancel(&Timer::Deadline(name.clone()));
        self.timers.cancel(&Timer::HandOver(name.clone()));
        if let Some(lease) = self.leases.get_mut(name) {
            lease.stage = Stage::Idle;
        }
    }
}
