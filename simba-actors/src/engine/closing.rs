//! The end (R14): terms are handed over, then the session is closed, which frees all that is left.

use simba_backends::{BackendError, LeaseName, SessionId};

use super::{Answer, Call, Effect, Engine, Input, Reason, Timer, lease::Stage, session::Session};

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Closing {
    failures: u32,
    done: bool,
    /// What a session that ran out meanwhile may still hold.
    left: Vec<LeaseName>,
}

impl Engine {
    /// Nothing new is sent from now on but releases and the close itself. No keep-alive is needed: no
    /// hand-over lasts longer than its term would have.
    pub(super) fn close(&mut self) {
        if self.closing.is_some() {
            return;
        }
        self.closing = Some(Closing::default());
        self.timers.cancel(&Timer::Renew);
        self.timers.cancel(&Timer::Open);
        let held = self.leases.values().filter_map(|lease| lease.held());
        let last_hand_over = held.map(|held| held.valid_until).max().unwrap_or(self.now);
        let last_call = if self.calls.any() { self.now + self.timing.call_timeout } else { self.now };
        self.timers.set(Timer::CloseBy, last_hand_over.max(last_call) + self.timing.call_timeout);
        let names: Vec<_> = self.leases.keys().cloned().collect();
        for name in names {
            self.withdraw(&name, Reason::Closed);
        }
    }

    /// Whether the close of the session is next, so that single releases are no longer worth a call.
    pub(super) fn close_frees_all(&self) -> bool {
        self.closing.is_some() && !self.leases.values().any(|lease| lease.held().is_some())
    }

    pub(super) fn is_done(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.done)
    }

    /// Closes the session once every term is handed over and every call in flight is answered.
    pub(super) fn dispatch_close(&mut self) {
        let waits = self.calls.any() || self.timers.is_set(&Timer::RetryClose);
        if self.is_done() || !self.close_frees_all() || waits {
            return;
        }
        match self.live().map(|live| live.id.clone()) {
            Some(session) => self.calls.close = Some(self.send(Call::Close { session })),
            None => {
                let left = self.closing.as_mut().map(|closing| std::mem::take(&mut closing.left));
                self.finish(left.unwrap_or_default());
            }
        }
    }

    pub(super) fn session_closed(&mut self, session: &SessionId, answer: Result<(), BackendError>) {
        let Some(closing) = &mut self.closing else { return };
        if answer.is_ok() {
            closing.left.clear();
        }
        if !self.is_present(session) {
            return;
        }
        match answer {
            Ok(()) => {
                self.session = Session::default();
                self.finish(Vec::new());
            }
            Err(_) => self.close_failed(),
        }
    }

    fn close_failed(&mut self) {
        let Some(closing) = &mut self.closing else { return };
        closing.failures = closing.failures.saturating_add(1);
        let pause = self.timing.backoff(closing.failures);
        self.timers.set(Timer::RetryClose, self.now + pause);
    }

    /// The retry timer is gone, so the next dispatch closes again.
    pub(super) fn close_retried(&mut self) {
        debug_assert!(self.closing.is_some());
    }

    /// The session runs out while closing, and what it held may not be free yet.
    pub(super) fn remember_left(&mut self) {
        let left = self.unfreed();
        if let Some(closing) = &mut self.closing {
            closing.left = left;
        }
    }

    pub(super) fn close_timed_out(&mut self) {
        let unfreed = self.unfreed();
        self.finish(unfreed);
    }

    fn unfreed(&self) -> Vec<LeaseName> {
        let held = self.leases.iter().filter(|(_, lease)| match lease.stage {
            Stage::Held(_) | Stage::Attempting(_) => true,
            Stage::Idle | Stage::Waiting { .. } | Stage::Queued { .. } => false,
        });
        let held = held.map(|(name, _)| name);
        let left = self.closing.iter().flat_map(|closing| &closing.left);
        let unreleased = self.releases.names().chain(self.in_doubt.keys()).chain(left);
        let mut unfreed: Vec<_> = held.chain(unreleased).cloned().collect();
        unfreed.sort_unstable();
        unfreed.dedup();
        unfreed
    }

    /// A session whose opening is answered late is closed even now; nobody waits for that.
    pub(super) fn after_the_end(&mut self, input: Input) {
        if let Input::Answer { answer: Answer::Opened(Ok(opened)), .. } = input {
            let id = self.calls.fresh_id();
            self.emit(Effect::Call { id, call: Call::Close { session: opened.session } });
        }
    }

    fn finish(&mut self, unfreed: Vec<LeaseName>) {
        let confirmed = unfreed.is_empty();
        // A keep-alive without answer may have taken effect as late as now.
        let (lease, drift_ppm) = (self.timing.lease, self.timing.drift_ppm);
        let unclosed = self.live().is_some() || !confirmed;
        let free_at = unclosed.then(|| self.now + lease + lease * drift_ppm / 1_000_000);
        let settling = self.leases.iter().filter(|(_, lease)| lease.settling);
        let settling: Vec<_> = settling.map(|(name, _)| name.clone()).collect();
        for name in settling {
            self.emit(Effect::Settled { name, confirmed });
        }
        self.emit(Effect::Closed { unfreed, free_at });
        self.closing = Some(Closing { done: true, ..Closing::default() });
        self.leases.clear();
        self.ready.clear();
        self.timers.clear();
    }
}
