//! One process: an engine, its clock, its users, and what is known of its calls and terms.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use simba_backends::{LeaseName, Metadata, SessionId, Token};

use super::super::engine::{Call, CallId, Engine, Instant, Timing};
use crate::{Clock, Plan, plan::DRIFT_PPM};

/// Which node, and which of its lives: what was sent in an earlier one reaches nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Life {
    pub(super) node: usize,
    pub(super) number: u32,
}

pub(super) struct Node {
    pub(super) life: Life,
    pub(super) clock: Clock,
    /// None while the process is down.
    pub(super) engine: Option<Engine>,
    /// Nothing of it runs before.
    pub(super) paused_until: Duration,
    /// Nothing passes between it and the storage before.
    pub(super) cut_off_until: Duration,
    /// The wake-up that counts; others were scheduled for deadlines of the past.
    pub(super) wake_at: Option<Duration>,
    pub(super) names: BTreeMap<LeaseName, Wish>,
    pub(super) calls: BTreeMap<CallId, Sent>,
    /// The session that the engine says it has.
    pub(super) session: Option<SessionId>,
    /// The call whose answer the engine is being told, and when the newest open was sent.
    pub(super) answered: Option<(CallId, Sent)>,
    pub(super) open_sent_at: Instant,
    /// When the newest call that was confirmed for that session was sent, by the local clock.
    pub(super) confirmed_at: Instant,
    /// The last keep-alive failed.
    pub(super) is_suspended: bool,
    /// Releases that were sent and not confirmed.
    pub(super) releasing: BTreeSet<(LeaseName, Token)>,
    /// By when `close()` must be done, once it was asked for.
    pub(super) close_by: Option<Instant>,
}

/// A call that the engine has sent and not abandoned.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) call: Call,
    pub(super) at: Instant,
    /// What the floors of the names that are asked for were.
    pub(super) floors: Vec<Option<Token>>,
}

/// What the users of one name want, and the term they have.
#[derive(Clone, Debug, Default)]
pub(super) struct Wish {
    pub(super) wanted: bool,
    pub(super) stands_out_until: Instant,
    /// By when `Settled` must come, once it was asked for.
    pub(super) settle_by: Option<Instant>,
    /// It came in the step that asked again: whether for both askers or for the first, nobody can tell.
    pub(super) may_settle: bool,
    pub(super) term: Option<Term>,
    /// The highest token of which this life started a term or sent a release (R1).
    pub(super) floor: Option<Token>,
    pub(super) watched: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) token: Token,
    pub(super) session: SessionId,
    pub(super) valid_until: Instant,
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Running,
    /// Somebody read `false`: it stays so (R2).
    Latched,
    Ending,
    /// The handlers have resolved and the engine is being told.
    HandedOver,
}

impl Node {
    pub(super) fn new(life: Life, clock: Clock, plan: &Plan, names: &[LeaseName]) -> Self {
        Self {
            life,
            clock,
            engine: Some(Engine::new(timing(plan), Metadata::default())),
            paused_until: Duration::ZERO,
            cut_off_until: Duration::ZERO,
            wake_at: None,
            names: names.iter().map(|name| (name.clone(), Wish::default())).collect(),
            calls: BTreeMap::new(),
            session: None,
            answered: None,
            open_sent_at: Instant::default(),
            confirmed_at: Instant::default(),
            is_suspended: false,
            releasing: BTreeSet::new(),
            close_by: None,
        }
    }

    /// What its clock shows.
    pub(super) fn local(&self, at: Duration) -> Instant {
        Instant::new(self.clock.local(at))
    }

    pub(super) fn true_at(&self, local: Instant) -> Duration {
        self.clock.true_at(local.since_origin())
    }

    /// The term of that name that any thread of the process would call valid.
    pub(super) fn valid_term(&self, name: &LeaseName, at: Duration) -> Option<&Term> {
        let term = self.names.get(name)?.term.as_ref()?;
        (term.stage == Stage::Running && self.local(at) < term.valid_until).then_some(term)
    }

    pub(super) fn wish(&mut self, name: &LeaseName) -> &mut Wish {
        self.names.entry(name.clone()).or_default()
    }

    /// The process is gone.
    pub(super) fn die(&mut self) {
        self.engine = None;
        self.wake_at = None;
        self.session = None;
        self.calls.clear();
        for wish in self.names.values_mut() {
            *wish = Wish::default();
        }
    }
}

fn timing(plan: &Plan) -> Timing {
    Timing {
        lease: plan.lease,
        renew: plan.renew,
        drift_ppm: DRIFT_PPM,
        margin: plan.margin,
        retry_jitter: plan.renew / 2,
        min_backoff: Duration::from_millis(100),
        call_timeout: plan.call_timeout,
    }
}
