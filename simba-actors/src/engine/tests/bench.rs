//! Keeper, actors and storage of one engine, in the hands of a test.

use std::{collections::BTreeMap, time::Duration};

use simba_backends::{
    Acquired, Acquisition, BackendError, Hint, KeepAlive, LeaseName, Opened, Release, Token,
};

use super::{TIMING, ms, name, session, token, told::told};
use crate::engine::{Answer, Call, CallId, Effect, Engine, Goal, Input, Instant, Moment, Reason, Timing};

type Told = Vec<String>;

/// See the module's head. Whatever the test does, each step is held against R3 and R9.
#[derive(Clone)]
pub(super) struct Bench {
    pub(super) engine: Engine,
    now: Duration,
    pub(super) chance: u64,
    in_flight: BTreeMap<CallId, Call>,
    /// The newest term of each name, and whether it runs.
    terms: BTreeMap<LeaseName, (Token, bool)>,
    sessions: u64,
}

impl Bench {
    /// An engine whose first call, the open, is in flight.
    pub(super) fn new() -> Self {
        Self::with(TIMING)
    }

    pub(super) fn with(timing: Timing) -> Self {
        let mut bench = Self {
            engine: Engine::new(timing, "host".parse().unwrap()),
            now: Duration::ZERO,
            chance: 1,
            in_flight: BTreeMap::new(),
            terms: BTreeMap::new(),
            sessions: 0,
        };
        assert_eq!(bench.step(Input::Tick), ["call open"]);
        bench
    }

    /// An engine with session `s1`, confirmed at 0.
    pub(super) fn live() -> Self {
        let mut bench = Self::new();
        assert_eq!(bench.opened(), ["opened s1"]);
        bench
    }

    /// An engine with session `s1` that leads `a` with token 7 until 14,800.
    pub(super) fn leading() -> Self {
        let mut bench = Self::live();
        bench.contend("a");
        assert_eq!(bench.acquired("a", super::granted(7)), ["a#7 started until 14800"]);
        bench
    }

    /// An engine with session `s1` that waits for `a`, held by another.
    pub(super) fn waiting() -> Self {
        let mut bench = Self::live();
        bench.contend("a");
        assert_eq!(bench.acquired("a", super::held()), ["a refused", "watch a"]);
        bench
    }

    // Time.

    /// Lets time pass as a keeper does: a step at each of the engine's deadlines. Calls stay in flight.
    pub(super) fn pass(&mut self, millis: u64) -> Told {
        let until = self.now + ms(millis);
        let mut told = Vec::new();
        while let Some((at, _)) = self.engine.deadline()
            && at <= Instant::new(until)
        {
            self.now = self.now.max(at.since_origin());
            told.extend(self.step(Input::Tick));
        }
        self.now = until;
        told
    }

    /// Lets time pass until the engine's next deadline.
    pub(super) fn pass_to_next(&mut self) -> Told {
        let (at, _) = self.engine.deadline().unwrap();
        self.now = self.now.max(at.since_origin());
        self.step(Input::Tick)
    }

    /// Lets time pass while the process is stopped: no step.
    pub(super) fn stall(&mut self, millis: u64) {
        self.now += ms(millis);
    }

    /// Sets the clock back.
    pub(super) fn set_back(&mut self, millis: u64) {
        self.now -= ms(millis);
    }

    pub(super) fn tick(&mut self) -> Told {
        self.step(Input::Tick)
    }

    pub(super) fn now_millis(&self) -> u64 {
        u64::try_from(self.now.as_millis()).unwrap()
    }

    /// Until when the engine sleeps, and for what, in milliseconds from now.
    pub(super) fn next(&self) -> (u64, &'static str) {
        let (at, what) = self.engine.deadline().unwrap();
        (u64::try_from(Instant::new(self.now).until(at).as_millis()).unwrap(), what)
    }

    // Actors.

    pub(super) fn contend(&mut self, lease: &str) -> Told {
        self.step(Input::Contend { name: name(lease), goal: Goal::Terms })
    }

    pub(super) fn lock(&mut self, lease: &str) -> Told {
        self.step(Input::Contend { name: name(lease), goal: Goal::OneTerm })
    }

    pub(super) fn stop(&mut self, lease: &str) -> Told {
        self.step(Input::Withdraw { name: name(lease), reason: Reason::Stopped })
    }

    pub(super) fn step_down(&mut self, lease: &str, millis: u64) -> Told {
        let (name, reason) = (name(lease), Reason::SteppedDown);
        self.step(Input::StandDown { name, reason, stay_out: ms(millis) })
    }

    pub(super) fn handed_over(&mut self, lease: &str, number: u64) -> Told {
        self.step(Input::HandedOver { name: name(lease), token: token(number) })
    }

    pub(super) fn lapsed(&mut self, lease: &str, number: u64) -> Told {
        self.step(Input::Lapsed { name: name(lease), token: token(number) })
    }

    pub(super) fn close(&mut self) -> Told {
        self.step(Input::Close)
    }

    // The storage. Each verb answers the call of its kind that is in flight.

    pub(super) fn hint(&mut self, lease: &str, waiters: Option<u32>) -> Told {
        self.step(Input::Hint(Hint::Released { name: name(lease), waiters }))
    }

    pub(super) fn gap(&mut self) -> Told {
        self.step(Input::Hint(Hint::Gap))
    }

    pub(super) fn opened(&mut self) -> Told {
        let call = self.call("open");
        let opened = self.fresh_session();
        self.answer(call, opened)
    }

    pub(super) fn fresh_session(&mut self) -> Answer {
        self.sessions += 1;
        Answer::Opened(Ok(Opened { session: session(self.sessions), remaining: TIMING.lease }))
    }

    pub(super) fn acquired(&mut self, lease: &str, acquisition: Acquisition) -> Told {
        self.answer(self.call("acquire"), answers([(lease, acquisition)]))
    }

    pub(super) fn kept_alive(&mut self, owned: &[(&str, u64)]) -> Told {
        self.answer(self.call("keep-alive"), listed(owned))
    }

    /// Confirms every release of the call in flight.
    pub(super) fn released(&mut self) -> Told {
        let call = self.call("release");
        let Call::Release { leases, .. } = &self.in_flight[&call] else { unreachable!() };
        let gone = leases.iter().map(|(name, _)| (name.clone(), Release::Gone)).collect();
        self.answer(call, Answer::Released(Ok(gone)))
    }

    pub(super) fn closed(&mut self) -> Told {
        self.answer(self.call("close"), Answer::Closed(Ok(())))
    }

    /// Fails the call of that kind.
    pub(super) fn fail(&mut self, kind: &str, error: BackendError) -> Told {
        let call = self.call(kind);
        let answer = match &self.in_flight[&call] {
            Call::Open { .. } => Answer::Opened(Err(error)),
            Call::KeepAlive { .. } => Answer::KeptAlive(Err(error)),
            Call::Acquire { .. } => Answer::Acquired(Err(error)),
            Call::Release { .. } => Answer::Released(Err(error)),
            Call::Close { .. } => Answer::Closed(Err(error)),
        };
        self.answer(call, answer)
    }

    /// The newest call of that kind in flight.
    pub(super) fn call(&self, kind: &str) -> CallId {
        let of_kind = |call: &Call| kind_of(call) == kind;
        let found = self.in_flight.iter().rev().find(|(_, call)| of_kind(call));
        *found.unwrap_or_else(|| panic!("no {kind} is in flight: {:?}", self.in_flight)).0
    }

    pub(super) fn in_flight(&self) -> Vec<&'static str> {
        self.in_flight.values().map(kind_of).collect()
    }

    /// Answers a call, whether somebody still waits for it or not.
    pub(super) fn answer(&mut self, call: CallId, answer: Answer) -> Told {
        self.in_flight.remove(&call);
        self.step(Input::Answer { call, answer })
    }

    pub(super) fn step(&mut self, input: Input) -> Told {
        let moment = Moment { now: Instant::new(self.now), chance: self.chance };
        let effects = self.engine.step(moment, input);
        effects.iter().for_each(|effect| self.perform(effect));
        effects.iter().map(told).collect()
    }

    fn perform(&mut self, effect: &Effect) {
        match effect {
            Effect::Call { id, call } => {
                let kind = kind_of(call);
                let alone = kind == "close" || !self.in_flight().contains(&kind) || kind == "open";
                assert!(alone, "R9: a second {kind} is in flight");
                self.in_flight.insert(*id, call.clone());
            }
            Effect::Abandon(id) => {
                self.in_flight.remove(id);
            }
            Effect::Started { name, token, .. } => {
                let before = self.terms.insert(name.clone(), (*token, true));
                assert!(before.is_none_or(|(_, runs)| !runs), "R3: {name} started twice");
            }
            Effect::Ending { name, token, .. } | Effect::Ended { name, token, .. } => {
                let before = self.terms.insert(name.clone(), (*token, false));
                assert_eq!(before, Some((*token, true)), "R3: an end without its start");
            }
            Effect::Extended { name, token, .. } => {
                assert_eq!(self.terms[name], (*token, true), "R2: an ended term was extended");
            }
            Effect::Overdue { .. }
            | Effect::Refused { .. }
            | Effect::Failed { .. }
            | Effect::Settled { .. }
            | Effect::Watch(_)
            | Effect::Unwatch(_)
            | Effect::Notice(_)
            | Effect::Closed { .. } => {}
        }
    }
}

/// An acquire's answers.
pub(super) fn answers<'a>(of: impl IntoIterator<Item = (&'a str, Acquisition)>) -> Answer {
    let answers = of.into_iter().map(|(lease, acquisition)| (name(lease), acquisition));
    Answer::Acquired(Ok(Acquired::Answers(answers.collect())))
}

/// A keep-alive's answer that leaves the full lease.
pub(super) fn listed(owned: &[(&str, u64)]) -> Answer {
    let owned = owned.iter().map(|(lease, number)| (name(lease), token(*number)));
    let (owned, unknown, groups) = (owned.collect(), Vec::new(), Vec::new());
    let remaining = TIMING.lease;
    Answer::KeptAlive(Ok(KeepAlive::Live { remaining, owned, unknown, groups, server_elapsed: None }))
}

fn kind_of(call: &Call) -> &'static str {
    match call {
        Call::Open { .. } => "open",
        Call::KeepAlive { .. } => "keep-alive",
        Call::Acquire { .. } => "acquire",
        Call::Release { .. } => "release",
        Call::Close { .. } => "close",
    }
}
