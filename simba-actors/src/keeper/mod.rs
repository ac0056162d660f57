//! The keeper: drives the engine, and is the one place that reads the clock for it.
//!
//! A task of its own, never an actor: an actor whose mailbox stays non-empty starves its own timers,
//! and actix does not bring back one that panicked. It publishes each term's validity itself, before
//! anybody is told, so that no mailbox delays what `Term::is_valid` says.

mod calls;
mod perform;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use actix::Recipient;
use futures_util::StreamExt;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use simba_backends::{Hint, HintSource, LeaseBackend};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use self::calls::Calls;
use crate::{
    SimbaConfig,
    backend::Told,
    clock::{Clock, LOOK},
    engine::{Engine, Input, Moment},
    term::Terms,
};

/// What a keeper works with.
pub(crate) struct Keeping {
    pub(crate) config: SimbaConfig,
    pub(crate) backend: Arc<dyn LeaseBackend>,
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
    /// What the actors ask for.
    pub(crate) inputs: mpsc::UnboundedReceiver<Input>,
    /// Whom the keeper tells.
    pub(crate) outlet: Recipient<Told>,
}

pub(crate) struct Keeper {
    /// First, so that every term is invalid before any connection is dropped (R21).
    terms: Terms,
    engine: Engine,
    clock: Clock,
    lease: Duration,
    chance: SmallRng,
    inputs: mpsc::UnboundedReceiver<Input>,
    calls: Calls,
    hints: Option<Box<dyn HintSource>>,
    /// What the last effects gave rise to; goes before all else.
    pending: VecDeque<Input>,
    outlet: Recipient<Told>,
}

/// Whether the keeper goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Step,
    Stop,
}

impl Keeper {
    pub(crate) fn new(keeping: Keeping) -> Self {
        let Keeping { config, backend, clock, seed, inputs, outlet } = keeping;
        Self {
            terms: Terms::default(),
            engine: Engine::new(config.timing(), config.metadata().clone()),
            clock,
            lease: config.lease(),
            chance: SmallRng::seed_from_u64(seed),
            inputs,
            hints: backend.hints(),
            calls: Calls::new(backend, config.lease()),
            pending: VecDeque::new(),
            outlet,
        }
    }

    /// Steps the engine until it is closed, or until nobody can ask it for anything any more.
    pub(crate) async fn run(mut self) {
        let mut input = Input::Tick;
        while self.step(input) == Next::Step {
            let Some(next) = self.next_input().await else { return };
            input = next;
        }
        let lease = self.lease;
        // Who closed has been answered; an error only says that the storage has not answered for a lease.
        let _ = timeout(lease, self.linger()).await;
    }

    /// Waits for the calls that are in flight at the end: a session that opens now is closed (R14).
    async fn linger(&mut self) {
        while !self.calls.is_empty() {
            let (call, answer) = self.calls.next().await;
            self.step(Input::Answer { call, answer });
        }
    }

    fn step(&mut self, input: Input) -> Next {
        if let Input::Withdraw { name, .. } | Input::StandDown { name, .. } = &input {
            // What was due before is told before.
            let name = name.clone();
            if self.advance(Input::Tick) == Next::Stop {
                return Next::Stop;
            }
            self.heard(name);
        }
        self.advance(input)
    }

    fn advance(&mut self, input: Input) -> Next {
        self.before(&input);
        let moment = Moment { now: self.clock.now(), chance: self.chance.next_u64() };
        let effects = self.engine.step(moment, input);
        self.perform(moment.now, effects)
    }

    /// The next thing that happens. Whichever it is, the step looks at the clock first.
    async fn next_input(&mut self) -> Option<Input> {
        if let Some(input) = self.pending.pop_front() {
            return Some(input);
        }
        let pause = self.pause();
        tokio::select! {
            biased;
            (call, answer) = self.calls.next() => Some(Input::Answer { call, answer }),
            input = self.inputs.recv() => input,
            hint = next_hint(&mut self.hints) => Some(Input::Hint(hint)),
            () = sleep(pause) => Some(Input::Tick),
        }
    }

    fn pause(&self) -> Duration {
        let now = self.clock.now();
        self.engine.deadline().map_or(LOOK, |(at, _)| now.until(at).min(LOOK))
    }
}

/// Waits for the next hint; for ever once the source has ended, because hints cost latency only.
async fn next_hint(source: &mut Option<Box<dyn HintSource>>) -> Hint {
    if let Some(hints) = source {
        if let Some(hint) = hints.next().await {
            return hint;
        }
        *source = None;
    }
    std::future::pending().await
}
