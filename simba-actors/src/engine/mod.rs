//! The engine: every decision about time and ownership, as one deterministic state machine.
//!
//! ```text
//!   actors ── Contend, Withdraw, StandDown, HandedOver, Close ──┐
//!   storage ── Answer, Hint ────────────────────────────────────┤
//!   time ── Tick ───────────────────────────────────────────────▼
//!                                                    step(moment, input)
//!                                                               │
//!   keeper ◄── Call, Abandon, Watch, Unwatch ───────────────────┤
//!   terms  ◄── Started, Extended, Ending, Ended, Overdue ───────┤
//!   actors ◄── Refused, Failed, Settled, Closed, Notice ────────┘
//! ```
//!
//! No async, no actor, no clock, no randomness of its own, no IO: time and chance come in with each
//! input, effects go out. The same inputs give the same effects, so a seed replays everything.
//!
//! What it keeps: one [`Session`], a record for each lease name that somebody here wants or holds, the
//! releases that the storage has not confirmed, and the floors below which no token starts a term.
//! Every rule R1-R22 that it keeps is named where it is kept.

mod attempt;
mod call;
mod closing;
mod effect;
mod floors;
mod hint;
mod input;
mod instant;
mod invariants;
mod lease;
mod ownership;
mod reason;
mod release;
mod session;
#[cfg(test)]
mod tests;
mod timer;
mod timing;

use std::collections::BTreeMap;

use simba_backends::{LeaseName, Metadata};

use self::{
    call::Calls,
    closing::Closing,
    floors::Floors,
    lease::Lease,
    release::Releases,
    session::Session,
    timer::{Timer, Timers},
};
pub(crate) use self::{
    call::{Call, CallId},
    effect::{Effect, Notice},
    input::{Answer, Goal, Input, Moment},
    instant::Instant,
    timing::Timing,
};
pub use reason::Reason;

/// The state machine of one Simba.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Engine {
    timing: Timing,
    metadata: Metadata,
    /// When the present step happens; steps never go back in time.
    now: Instant,
    /// The random draw of the present step.
    chance: u64,
    session: Session,
    leases: BTreeMap<LeaseName, Lease>,
    /// Names whose attempt is due, in the order in which they became so.
    ready: BTreeMap<u64, LeaseName>,
    releases: Releases,
    floors: Floors,
    /// Names whose attempt had no answer, with the ticket of that day: the list of a keep-alive that was
    /// sent later tells (R8).
    in_doubt: BTreeMap<LeaseName, u64>,
    calls: Calls,
    timers: Timers,
    /// Counts steps, queue places and terms: "was held when the keep-alive was sent" is a comparison.
    ticket: u64,
    closing: Option<Closing>,
    effects: Vec<Effect>,
}

impl Engine {
    /// An engine that opens its session at its first step.
    pub(crate) fn new(timing: Timing, metadata: Metadata) -> Self {
        let mut timers = Timers::default();
        timers.set(Timer::Open, Instant::default());
        Self {
            timing,
            metadata,
            now: Instant::default(),
            chance: 0,
            session: Session::default(),
            leases: BTreeMap::new(),
            ready: BTreeMap::new(),
            releases: Releases::default(),
            floors: Floors::default(),
            in_doubt: BTreeMap::new(),
            calls: Calls::default(),
            timers,
            ticket: 0,
            closing: None,
            effects: Vec::new(),
        }
    }

    /// When the engine wants to be stepped even if nothing happens, and for what.
    pub(crate) fn deadline(&self) -> Option<(Instant, &'static str)> {
        self.timers.first()
    }

    /// Lets time pass until `moment`, then applies one input.
    ///
    /// Deadlines come first (R2): an answer that is handled after the old deadline extends nothing,
    /// however early it was sent.
    pub(crate) fn step(&mut self, moment: Moment, input: Input) -> Vec<Effect> {
        if self.is_done() {
            self.after_the_end(input);
            return std::mem::take(&mut self.effects);
        }
        self.now = self.now.max(moment.now);
        self.chance = moment.chance;
        if let Input::Answer { call, .. } = &input {
            // After a stall the time-out is due as well; an answer that is here was not waited for in vain.
            self.timers.cancel(&Timer::CallTimeout(*call));
        }
        self.fire_due();
        self.apply(input);
        self.fire_due();
        self.dispatch();
        self.check_invariants();
        std::mem::take(&mut self.effects)
    }

    fn fire_due(&mut self) {
        while let Some(timer) = self.timers.pop_due(self.now) {
            self.fire(timer);
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Open => self.open_session(),
            Timer::Renew => self.send_keep_alive(),
            Timer::SessionLost => self.lose_session(),
            Timer::CallTimeout(call) => self.abandon(call),
            Timer::Retry(name) => self.queue(&name),
            Timer::ComeBack(name) => self.come_back(&name),
            Timer::Deadline(name) => self.deadline_passed(&name),
            Timer::HandOver(name) => self.hand_over_timed_out(&name),
            Timer::Settle(name) => self.settle_unconfirmed(&name),
            Timer::Release(name, token) => self.releases.due(&name, token),
            Timer::RetryClose => self.close_retried(),
            Timer::CloseBy => self.close_timed_out(),
        }
    }

    fn apply(&mut self, input: Input) {
        match input {
            Input::Tick => {}
            Input::Contend { name, goal } => self.contend(name, goal),
            Input::Withdraw { name, reason } => self.withdraw(&name, reason),
            Input::StandDown { name, reason, stay_out } => self.stand_down(&name, reason, stay_out),
            Input::HandedOver { name, token } => self.handed_over(&name, token),
            Input::Lapsed { name, token } => self.lapsed(&name, token),
            Input::Hint(hint) => self.hinted(hint),
            Input::Answer { call, answer } => self.answered(call, answer),
            Input::Close => self.close(),
        }
    }

    /// Sends what is due and may be sent.
    fn dispatch(&mut self) {
        self.dispatch_releases();
        self.dispatch_attempts();
        self.dispatch_close();
    }

    fn emit(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn notice(&mut self, notice: Notice) {
        self.effects.push(Effect::Notice(notice));
    }

    fn next_ticket(&mut self) -> u64 {
        self.ticket += 1;
        self.ticket
    }
}
