//! Calls to the storage that are in flight.

use std::collections::BTreeMap;

use simba_backends::{BackendError, LeaseName, Metadata, SessionId, Token};

use super::{Answer, Effect, Engine, Instant, Timer};

/// Names one call for as long as it is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CallId(u64);

/// A call to the storage, as `LeaseBackend` has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    Open { metadata: Metadata },
    KeepAlive { session: SessionId },
    Acquire { session: SessionId, names: Vec<LeaseName> },
    Release { session: SessionId, leases: Vec<(LeaseName, Token)> },
    Close { session: SessionId },
}

/// What is remembered of a call until it is answered or abandoned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct InFlight {
    pub(super) call: Call,
    /// Read before the call was queued for a connection.
    pub(super) sent_at: Instant,
    /// Terms with a smaller ticket had started when the call was sent.
    pub(super) ticket: u64,
}

/// The calls in flight, and the one slot that each kind of call has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Calls {
    in_flight: BTreeMap<CallId, InFlight>,
    last: u64,
    /// R9: one keep-alive in flight.
    pub(super) keep_alive: Option<CallId>,
    /// Names that become due meanwhile travel together in the next call.
    pub(super) acquire: Option<CallId>,
    pub(super) release: Option<CallId>,
    pub(super) open: Option<CallId>,
    pub(super) close: Option<CallId>,
}

impl Calls {
    pub(super) fn any(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Whether the acquire call in flight asks for that name.
    pub(super) fn ask_for(&self, name: &LeaseName) -> bool {
        let acquire = self.acquire.and_then(|id| self.in_flight.get(&id));
        acquire.is_some_and(|in_flight| match &in_flight.call {
            Call::Acquire { names, .. } => names.contains(name),
            Call::Open { .. } | Call::KeepAlive { .. } | Call::Release { .. } | Call::Close { .. } => false,
        })
    }

    fn take(&mut self, id: CallId) -> Option<InFlight> {
        for slot in
            [&mut self.keep_alive, &mut self.acquire, &mut self.release, &mut self.open, &mut self.close]
        {
            if *slot == Some(id) {
                *slot = None;
            }
        }
        self.in_flight.remove(&id)
    }
}

impl Engine {
    /// Sends a call; its time-out is a timer like all others.
    pub(super) fn send(&mut self, call: Call) -> CallId {
        self.calls.last += 1;
        let id = CallId(self.calls.last);
        let in_flight = InFlight { call: call.clone(), sent_at: self.now, ticket: self.next_ticket() };
        self.calls.in_flight.insert(id, in_flight);
        self.timers.set(Timer::CallTimeout(id), self.now + self.timing.call_timeout);
        self.emit(Effect::Call { id, call });
        id
    }

    /// The answer of a call. One that is no longer in flight was abandoned: it changes nothing (R9, R10),
    /// except that a session which opened too late is closed again.
    pub(super) fn answered(&mut self, id: CallId, answer: Answer) {
        let Some(InFlight { call, sent_at, ticket }) = self.calls.take(id) else {
            if let Answer::Opened(Ok(opened)) = answer {
                self.send(Call::Close { session: opened.session });
            }
            return;
        };
        self.timers.cancel(&Timer::CallTimeout(id));
        match (call, answer) {
            (Call::Open { .. }, Answer::Opened(answer)) => self.opened(sent_at, answer),
            (Call::KeepAlive { .. }, Answer::KeptAlive(answer)) => self.kept_alive(sent_at, ticket, answer),
            (Call::Acquire { names, .. }, Answer::Acquired(answer)) => {
                self.acquired(id, sent_at, &names, answer);
            }
            (Call::Release { leases, .. }, Answer::Released(answer)) => self.released(&leases, answer),
            (Call::Close { session }, Answer::Closed(answer)) => self.session_closed(&session, answer),
            (call, answer) => debug_assert!(false, "{call:?} answered by {answer:?}"),
        }
    }

    /// Gives a call up: it may have happened, or may happen much later.
    pub(super) fn abandon(&mut self, id: CallId) {
        let Some(InFlight { call, sent_at, ticket }) = self.calls.take(id) else { return };
        self.timers.cancel(&Timer::CallTimeout(id));
        let waited = sent_at.until(self.now);
        let error = BackendError::timeout(format!("the storage did not answer within {waited:?}"));
        match call {
            // Its answer is still listened to: a session that opens late must be closed.
            Call::Open { .. } => self.opened(sent_at, Err(error)),
            Call::KeepAlive { .. } => {
                self.emit(Effect::Abandon(id));
                self.kept_alive(sent_at, ticket, Err(error));
            }
            Call::Acquire { names, .. } => {
                self.emit(Effect::Abandon(id));
                self.acquired(id, sent_at, &names, Err(error));
            }
            Call::Release { leases, .. } => {
                self.emit(Effect::Abandon(id));
                self.released(&leases, Err(error));
            }
            Call::Close { session } => {
                self.emit(Effect::Abandon(id));
                self.session_closed(&session, Err(error));
            }
        }
    }

    /// Drops the calls of a session that is no more.
    pub(super) fn drop_calls_of_session(&mut self) {
        for id in [self.calls.keep_alive, self.calls.acquire, self.calls.release].into_iter().flatten() {
            self.calls.take(id);
            self.timers.cancel(&Timer::CallTimeout(id));
            self.emit(Effect::Abandon(id));
        }
    }
}
