//! Attempts: when a candidate tries, and what it makes of the answer.
//!
//! Names that become due while a call is in flight travel together in the next one (group commit), so
//! ten thousand leases cost a few calls and one slow call delays another name by at most itself (R22).

use std::time::Duration;

use simba_backends::{Acquired, Acquisition, BackendError, ErrorKind, LeaseName, Outcome, Token};

use super::{
    Call, CallId, Effect, Engine, Instant, Timer,
    lease::{Pace, Stage},
};

/// How many names travel in one call at most: what storages take in one statement.
const BATCH: usize = 1000;

/// The first spread after a lost race.
const FIRST_WINDOW: Duration = Duration::from_millis(5);

/// Just after the holder's lease has run out: storages count in milliseconds.
const AFTER_EXPIRY: Duration = Duration::from_millis(2);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Attempt {
    call: CallId,
    /// The floor when the attempt was sent (R19).
    floor: Option<Token>,
    pace: Pace,
    /// A hint came meanwhile, and calls for another attempt then: the answer may be older than the news.
    pub(super) again_at: Option<Instant>,
}

impl Engine {
    pub(super) fn enqueue(&mut self, name: &LeaseName, pace: Pace) {
        let place = self.next_ticket();
        if let Some(lease) = self.leases.get_mut(name) {
            lease.stage = Stage::Queued { place, pace };
            self.ready.insert(place, name.clone());
        }
    }

    /// The retry timer fired.
    pub(super) fn queue(&mut self, name: &LeaseName) {
        if let Some(Stage::Waiting { pace, .. }) = self.leases.get(name).map(|lease| &lease.stage) {
            self.enqueue(name, *pace);
        }
    }

    /// Takes a name out of timer and queue; an attempt in flight is not called back.
    pub(super) fn stop_waiting(&mut self, name: &LeaseName) {
        let Some(lease) = self.leases.get_mut(name) else { return };
        match lease.stage {
            Stage::Waiting { .. } => self.timers.cancel(&Timer::Retry(name.clone())),
            Stage::Queued { place, .. } => {
                self.ready.remove(&place);
            }
            Stage::Idle | Stage::Attempting(_) | Stage::Held(_) => return,
        }
        lease.stage = Stage::Idle;
    }

    pub(super) fn dispatch_attempts(&mut self) {
        if self.closing.is_some() || self.calls.acquire.is_some() || self.ready.is_empty() {
            return;
        }
        // A session that may be at its end is asked nothing: what it won would be released at once, and asked
        // for again, as fast as the storage answers. The next keep-alive or session lets them go.
        let now = self.now;
        let Some(live) = self.live().filter(|live| live.valid_until > now) else { return };
        let session = live.id.clone();
        let mut due = Vec::new();
        while due.len() < BATCH
            && let Some((_, name)) = self.ready.pop_first()
        {
            due.push(name);
        }
        // Sorted, so that storages lock their rows in one order, and a name is found by halves.
        due.sort_unstable();
        let call = self.send(Call::Acquire { session, names: due.clone() });
        self.calls.acquire = Some(call);
        for name in due {
            let floor = self.floors.get(&name);
            let Some(lease) = self.leases.get_mut(&name) else { continue };
            if let Stage::Queued { pace, .. } = lease.stage {
                lease.stage = Stage::Attempting(Attempt { call, floor, pace, again_at: None });
            }
        }
    }

    pub(super) fn acquired(
        &mut self,
        call: CallId,
        sent_at: Instant,
        names: &[LeaseName],
        answer: Result<Acquired, BackendError>,
    ) {
        match answer {
            Ok(Acquired::Expired) => self.expire_session(),
            Ok(Acquired::Answers(answers)) => {
                for (name, acquisition) in answers {
                    self.attempt_answered(call, sent_at, &name, acquisition);
                }
                self.unanswered(
                    call,
                    names,
                    &BackendError::new(
                        ErrorKind::Unexpected,
                        Outcome::Unknown,
                        "the storage's answer left this name out",
                    ),
                );
            }
            Err(error) => {
                if error.outcome() == Outcome::Unknown {
                    names.iter().for_each(|name| self.doubt_about(name));
                }
                self.unanswered(call, names, &error);
            }
        }
        names.iter().for_each(|name| self.check_settled(name));
    }

    /// Whether that name is held nobody knows until a list tells (R8).
    fn doubt_about(&mut self, name: &LeaseName) {
        let ticket = self.ticket;
        self.in_doubt.insert(name.clone(), ticket);
        self.doubt();
    }

    fn unanswered(&mut self, call: CallId, names: &[LeaseName], error: &BackendError) {
        for name in names {
            self.attempt_failed(call, name, error);
        }
    }

    fn attempt_answered(&mut self, call: CallId, sent_at: Instant, name: &LeaseName, answer: Acquisition) {
        match answer {
            Acquisition::Granted { token, remaining } => {
                let valid_until = self.timing.valid_until(sent_at, remaining);
                match self.end_attempt(call, name) {
                    Some(attempt) => {
                        self.race_won(name, attempt.pace);
                        self.claim_granted(name, token, valid_until, attempt.floor);
                    }
                    // A keep-alive's list was faster and told of this term.
                    None => self.claim_listed(name, token, valid_until),
                }
            }
            Acquisition::AlreadyOwned { token, remaining } => {
                self.end_attempt(call, name);
                self.claim_listed(name, token, self.timing.valid_until(sent_at, remaining));
            }
            Acquisition::Held { free_in } => self.attempt_refused(call, name, free_in),
            Acquisition::Failed(error) => {
                // Also of an attempt that a term of an older one has overtaken.
                if error.outcome() == Outcome::Unknown {
                    self.doubt_about(name);
                }
                self.attempt_failed(call, name, &error);
            }
        }
    }

    /// Ends the attempt if it is still that call's. `Held` then is no evidence of anything but itself.
    fn end_attempt(&mut self, call: CallId, name: &LeaseName) -> Option<Attempt> {
        let lease = self.leases.get_mut(name)?;
        match &lease.stage {
            Stage::Attempting(attempt) if attempt.call == call => {}
            Stage::Idle
            | Stage::Waiting { .. }
            | Stage::Queued { .. }
            | Stage::Attempting(_)
            | Stage::Held(_) => return None,
        }
        match std::mem::take(&mut lease.stage) {
            Stage::Attempting(attempt) => Some(attempt),
            Stage::Idle | Stage::Waiting { .. } | Stage::Queued { .. } | Stage::Held(_) => None,
        }
    }

    /// The session of the attempt is no more.
    pub(super) fn attempt_dropped(&mut self, name: &LeaseName) {
        if let Some(lease) = self.leases.get_mut(name)
            && let Stage::Attempting(_) = lease.stage
        {
            lease.stage = Stage::Idle;
        }
    }

    /// Tries again at the regular pace, or when the holder's lease may have run out if that is sooner.
    fn attempt_refused(&mut self, call: CallId, name: &LeaseName, free_in: Option<Duration>) {
        let Some(attempt) = self.end_attempt(call, name) else { return };
        if let Some(free_in) = free_in {
            self.compare_lease(free_in);
        }
        if let Some(lease) = self.leases.get_mut(name) {
            lease.failures = 0;
        }
        if attempt.pace == Pace::Rush {
            self.race_lost(name);
        }
        self.emit(Effect::Refused { name: name.clone(), free_in });
        let regular = self.timing.renew / 2 + self.spread(name, self.timing.retry_jitter);
        let after = AFTER_EXPIRY + self.spread(name, self.window(name));
        let expiry = free_in.map(|free_in| free_in.saturating_add(after));
        let (pause, pace) = match expiry {
            Some(expiry) if expiry < regular => (expiry, Pace::Rush),
            Some(_) | None => (regular, Pace::Regular),
        };
        self.wait(name, pause, pace);
        if let Some(at) = attempt.again_at {
            self.call_up(name, at.max(self.now));
        }
    }

    fn attempt_failed(&mut self, call: CallId, name: &LeaseName, error: &BackendError) {
        if self.end_attempt(call, name).is_none() {
            return;
        }
        if error.outcome() == Outcome::Unknown {
            self.doubt_about(name);
        }
        let Some(lease) = self.leases.get_mut(name) else { return };
        lease.failures = lease.failures.saturating_add(1);
        let failures = lease.failures;
        let backoff = self.timing.backoff(failures);
        self.emit(Effect::Failed { name: name.clone(), failures, error: error.clone() });
        self.wait(name, backoff + self.spread(name, backoff), Pace::Regular);
    }

    /// Waits for the next attempt, if there is to be one.
    fn wait(&mut self, name: &LeaseName, pause: Duration, pace: Pace) {
        let contends = self.leases.get(name).is_some_and(|lease| self.contends(lease));
        // A release that is pending calls the name up again when it is confirmed.
        if contends
            && !self.releases.pending(name)
            && let Some(lease) = self.leases.get_mut(name)
        {
            let by = self.now + pause;
            lease.stage = Stage::Waiting { pace, by };
            self.timers.set(Timer::Retry(name.clone()), by);
            self.watch(name);
        }
        self.check_settled(name);
    }

    pub(super) fn window(&self, name: &LeaseName) -> Duration {
        self.leases.get(name).map_or(Duration::ZERO, |lease| lease.window)
    }

    fn race_lost(&mut self, name: &LeaseName) {
        let most = self.timing.renew / 2;
        if let Some(lease) = self.leases.get_mut(name) {
            lease.window = (lease.window * 2).clamp(FIRST_WINDOW, most.max(FIRST_WINDOW));
        }
    }

    fn race_won(&mut self, name: &LeaseName, pace: Pace) {
        if let Some(lease) = self.leases.get_mut(name)
            && pace == Pace::Rush
        {
            lease.window = if lease.window > FIRST_WINDOW { lease.window / 2 } else { Duration::ZERO };
        }
    }

    /// A random part of `span`, different for each name and step.
    pub(super) fn spread(&self, name: &LeaseName, span: Duration) -> Duration {
        let seed = name.as_str().bytes().fold(self.chance, |seed, byte| mix(seed ^ u64::from(byte)));
        span.mul_f64(mix(seed) as f64 / u64::MAX as f64)
    }
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood, 2014).
const fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
