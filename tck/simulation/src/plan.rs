//! What one seed stands for: the timing, the clocks, the users and the faults of a run.

use std::time::Duration;

use crate::Rng;

/// The virtual length of a run.
pub const LENGTH: Duration = Duration::from_secs(60);

/// How wrong clocks may run.
pub const DRIFT_PPM: u32 = 10_000;

/// Something that the promise rests on, taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Premise {
    /// A node's clock runs slower than `drift` allows.
    ClockRate,
    /// The backend's clock steps forward.
    ClockStep,
    /// The backend loses the newest of what it committed.
    LostWrites,
}

/// A backend that breaks one sentence of its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// S1: a new session gets the id of one that is no more.
    ReusedIds,
    /// S8: a keep-alive that waited on a lock sets the expiry that it computed before.
    ShorteningKeepAlive,
    /// L6: a release frees the name, whatever the token.
    ReleaseByName,
}

/// What may happen to a message, each in a thousand.
#[derive(Clone, Debug)]
pub struct Wire {
    /// The usual delay of one way is below this.
    pub delay: Duration,
    /// A request never arrives.
    pub lost_requests: u32,
    /// The call takes effect, its reply never arrives.
    pub lost_replies: u32,
    /// A request takes effect long after it was given up.
    pub late: u32,
    /// A request takes effect a second time, later.
    pub doubled: u32,
    /// A reply arrives about when it is given up.
    pub slow: u32,
    /// The answer of a call that was given up reaches the engine all the same.
    pub unasked: u32,
    /// One name of a call fails, be it applied or not.
    pub name_fails: u32,
    /// A keep-alive's list leaves a name open.
    pub unknown: u32,
    /// A hint never arrives.
    pub lost_hints: u32,
}

/// A fault that befalls a node or the backend at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nothing of a node runs for a while.
    Pause,
    /// A node's clock jumps forward.
    Jump,
    /// Nothing passes between a node and the backend for a while.
    Partition,
    /// A node is gone at once and starts anew later.
    Crash,
    /// A node is closed and starts anew later.
    Close,
    /// The backend refuses service for a while.
    Refuse,
    /// The holder loses its lease and takes it again by a late attempt.
    Retake,
    /// A node is told that hints may have been lost.
    Gap,
}

const FAULTS: [Fault; 8] = [
    Fault::Pause,
    Fault::Jump,
    Fault::Partition,
    Fault::Crash,
    Fault::Close,
    Fault::Refuse,
    Fault::Retake,
    Fault::Gap,
];

/// One run, complete: equal plans give equal logs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What everything else was drawn from.
    pub seed: u64,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many names are elections.
    pub elections: usize,
    /// How many names are locks.
    pub locks: usize,
    /// How long the backend keeps a silent session.
    pub lease: Duration,
    /// From keep-alive to keep-alive.
    pub renew: Duration,
    /// Taken off each deadline.
    pub margin: Duration,
    /// When a call is given up.
    pub call_timeout: Duration,
    /// The messages.
    pub wire: Wire,
    /// What befalls nodes and backend.
    pub faults: Vec<Fault>,
    /// The mean pause between two faults.
    pub fault_pause: Duration,
    /// The mean pause between two acts of a user.
    pub act_pause: Duration,
    /// What the promise rests on is taken away.
    pub premise: Option<Premise>,
    /// The backend breaks its contract.
    pub flaw: Option<Flaw>,
}

impl Plan {
    /// The plan of a seed: each fault is in some plans and not in others, so that none hides another.
    pub fn new(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let lease = Duration::from_millis(rng.pick(&[1_500, 2_000, 3_000]));
        let renew = lease / 3;
        let call_timeout = rng.pick(&[renew, renew / 2]);
        Self {
            seed,
            nodes: 3 + rng.below(3),
            elections: 1 + rng.below(2),
            locks: rng.below(2),
            lease,
            renew,
            margin: Duration::from_millis(5),
            call_timeout,
            wire: Wire::draw(rng, call_timeout),
            faults: FAULTS.into_iter().filter(|_| rng.chance(600)).collect(),
            fault_pause: lease / rng.pick(&[1, 3, 6]),
            act_pause: lease / rng.pick(&[1, 3, 8]),
            premise: None,
            flaw: None,
        }
    }

    /// The same without something that the promise rests on.
    #[must_use]
    pub fn without(self, premise: Premise) -> Self {
        Self { premise: Some(premise), ..self }
    }

    /// The same with a backend that breaks its contract.
    #[must_use]
    pub fn flawed(self, flaw: Flaw) -> Self {
        Self { flaw: Some(flaw), ..self }
    }

    /// When the faults end and the liveness phase begins.
    pub fn calm_at(&self) -> Duration {
        LENGTH - self.lease * 10
    }

    /// From when on nothing of the safety phase is on its way any more.
    pub fn settled_at(&self) -> Duration {
        self.calm_at() + self.longest_delay()
    }

    /// How late a request may take effect.
    pub fn longest_delay(&self) -> Duration {
        self.lease * 2
    }

    /// No clock but the drifting ones and no late call disturbs the comparison of clocks (R20).
    pub fn clocks_compare(&self) -> bool {
        self.wire.late == 0 && self.wire.doubled == 0 && !self.faults.contains(&Fault::Jump)
    }
}

impl Wire {
    /// Messages that arrive, and soon.
    pub fn calm(&self) -> Self {
        Self {
            delay: Duration::from_millis(20),
            lost_requests: 0,
            lost_replies: 0,
            late: 0,
            doubled: 0,
            slow: 0,
            unasked: self.unasked,
            name_fails: 0,
            unknown: 0,
            lost_hints: self.lost_hints,
        }
    }

    fn draw(rng: &mut Rng, call_timeout: Duration) -> Self {
        let some = |rng: &mut Rng, per_mille: u32| rng.pick(&[0, per_mille / 4, per_mille]);
        Self {
            delay: rng.pick(&[Duration::from_millis(2), Duration::from_millis(40), call_timeout * 2 / 5]),
            lost_requests: some(rng, 80),
            lost_replies: some(rng, 80),
            late: some(rng, 80),
            doubled: some(rng, 200),
            slow: some(rng, 200),
            unasked: 500,
            name_fails: some(rng, 100),
            unknown: some(rng, 200),
            lost_hints: rng.pick(&[0, 300, 1000]),
        }
    }
}
