//! The session: opened, kept alive, suspended, expired.
//!
//! ```text
//!   Opening ──opened──► Live ──keep-alive fails──► Live, suspended ──a lease after the last──► Opening
//!      ▲                 │ ▲                          │                confirmed send        (fresh id)
//!      │                 │ └────────answered──────────┘
//!      └──── expired ────┘
//! ```

use std::{collections::BTreeSet, time::Duration};

use simba_backends::{BackendError, KeepAlive, LeaseName, Opened, SessionId, Token};

use super::{Call, Effect, Engine, Instant, Notice, Reason, Timer, lease::Stage};

/// How far the storage's clock and ours may differ over one renewal before it is called a step (R20).
const CLOCK_TOLERANCE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Session {
    /// No session yet. `failures` opens in a row have failed.
    Opening {
        failures: u32,
    },
    Live(Live),
}

impl Default for Session {
    fn default() -> Self {
        Self::Opening { failures: 0 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Live {
    pub(super) id: SessionId,
    /// When the newest call that the storage confirmed was sent: the open, or a keep-alive.
    pub(super) confirmed_at: Instant,
    /// Until when the session is certain to live.
    pub(super) valid_until: Instant,
    /// Keep-alives that failed since the last one that was answered.
    pub(super) failures: u32,
    /// A keep-alive is wanted out of turn: an attempt had no answer (R8).
    in_doubt: bool,
    /// Round trip of the last keep-alive, if the next can be compared with it (R20).
    comparable: Option<Duration>,
    clock_step_seen: bool,
    /// A lease was free later than any holder could have made it. For each session once: it is no news from
    /// the next attempt on, and a clock that steps while the session lives shows in its keep-alives.
    long_lease_seen: bool,
}

impl Engine {
    pub(super) fn live(&self) -> Option<&Live> {
        match &self.session {
            Session::Opening { .. } => None,
            Session::Live(live) => Some(live),
        }
    }

    fn live_mut(&mut self) -> Option<&mut Live> {
        match &mut self.session {
            Session::Opening { .. } => None,
            Session::Live(live) => Some(live),
        }
    }

    pub(super) fn open_session(&mut self) {
        if self.closing.is_none() {
            let call = Call::Open { metadata: self.metadata.clone() };
            self.calls.open = Some(self.send(call));
        }
    }

    pub(super) fn opened(&mut self, sent_at: Instant, answer: Result<Opened, BackendError>) {
        let opened = match answer {
            Ok(opened) => opened,
            Err(error) => return self.open_failed(error),
        };
        self.session = Session::Live(Live {
            id: opened.session.clone(),
            confirmed_at: sent_at,
            valid_until: self.timing.valid_until(sent_at, opened.remaining),
            failures: 0,
            in_doubt: false,
            comparable: None,
            clock_step_seen: false,
            long_lease_seen: false,
        });
        self.timers.set(Timer::Renew, sent_at + self.timing.renew);
        self.timers.set(Timer::SessionLost, sent_at + self.timing.lease);
        self.notice(Notice::SessionOpened { session: opened.session });
    }

    fn open_failed(&mut self, error: BackendError) {
        let Session::Opening { failures } = &mut self.session else { return };
        *failures += 1;
        let failures = *failures;
        self.timers.set(Timer::Open, self.now + self.timing.backoff(failures));
        self.notice(Notice::OpenFailed { failures, error });
    }

    pub(super) fn send_keep_alive(&mut self) {
        if self.closing.is_some() || self.calls.keep_alive.is_some() {
            return;
        }
        let (now, lease) = (self.now, self.timing.lease);
        let Some(live) = self.live_mut() else { return };
        if live.confirmed_at + lease <= now {
            // The session's end is due as well, after a stall: it counts as expired without asking (R11).
            return;
        }
        live.in_doubt = false;
        let call = Call::KeepAlive { session: live.id.clone() };
        self.calls.keep_alive = Some(self.send(call));
    }

    /// Asks for a keep-alive out of turn: its list tells what became of a call without an answer (R8).
    pub(super) fn doubt(&mut self) {
        let now = self.now;
        let Some(live) = self.live_mut() else { return };
        live.in_doubt = true;
        // While keep-alives fail, the back-off paces them; one in flight may be too old to tell.
        if live.failures == 0 && self.calls.keep_alive.is_none() {
            self.timers.set(Timer::Renew, now);
        }
    }

    pub(super) fn kept_alive(
        &mut self,
        sent_at: Instant,
        ticket: u64,
        answer: Result<KeepAlive, BackendError>,
    ) {
        match answer {
            Err(error) => self.renew_failed(error),
            Ok(KeepAlive::Expired) => self.expire_session(),
            Ok(KeepAlive::Live { remaining, owned, unknown, groups: _, server_elapsed }) => {
                self.renewed(sent_at, remaining, server_elapsed);
                let valid_until = self.timing.valid_until(sent_at, remaining);
                self.owned_listed(ticket, valid_until, &owned, &unknown);
            }
        }
    }

    fn renew_failed(&mut self, error: BackendError) {
        let now = self.now;
        let Some(live) = self.live_mut() else { return };
        live.failures += 1;
        live.comparable = None;
        let (failures, remaining) = (live.failures, now.until(live.valid_until));
        self.timers.set(Timer::Renew, now + self.renew_pause(failures, remaining));
        self.notice(Notice::RenewFailed { failures, error });
        if failures == 1 {
            self.notice(Notice::Suspended { remaining });
        }
    }

    /// The back-off, but half of what is left while something is: a storage that comes back before the
    /// deadline is asked before it.
    fn renew_pause(&self, failures: u32, remaining: Duration) -> Duration {
        let backoff = self.timing.backoff(failures);
        if remaining.is_zero() { backoff } else { backoff.min((remaining / 2).max(self.timing.min_backoff)) }
    }

    fn renewed(&mut self, sent_at: Instant, remaining: Duration, server_elapsed: Option<Duration>) {
        self.compare_clocks(sent_at, server_elapsed);
        let (now, timing) = (self.now, self.timing);
        let Some(live) = self.live_mut() else { return };
        let was_suspended = std::mem::take(&mut live.failures) > 0;
        live.confirmed_at = sent_at;
        live.valid_until = timing.valid_until(sent_at, remaining);
        live.comparable = Some(sent_at.until(now));
        let next = if live.in_doubt { now } else { now.max(sent_at + timing.renew) };
        self.timers.set(Timer::Renew, next);
        self.timers.set(Timer::SessionLost, sent_at + timing.lease);
        if was_suspended {
            self.notice(Notice::Resumed);
        }
    }

    /// R20. The server's span between two renewals lies within ours, give or take both round trips.
    fn compare_clocks(&mut self, sent_at: Instant, server_elapsed: Option<Duration>) {
        let (now, drift_ppm) = (self.now, self.timing.drift_ppm);
        let Some(live) = self.live_mut() else { return };
        let (Some(server), Some(round_trip)) = (server_elapsed, live.comparable) else { return };
        let local = live.confirmed_at.until(sent_at);
        let drift = local * drift_ppm / 1_000_000;
        let tolerance = round_trip + sent_at.until(now) + drift + CLOCK_TOLERANCE;
        if local.abs_diff(server) <= tolerance {
            live.clock_step_seen = false;
        } else if !std::mem::replace(&mut live.clock_step_seen, true) {
            self.notice(Notice::ClockStep { local, server });
        }
    }

    /// R20, the other sign: a lease that is said to be free later than any holder could have made it, unless it
    /// has settings of its own.
    pub(super) fn compare_lease(&mut self, free_in: Duration) {
        let (lease, drift_ppm) = (self.timing.lease, self.timing.drift_ppm);
        let most = lease + lease * drift_ppm / 1_000_000 + CLOCK_TOLERANCE;
        let Some(live) = self.live_mut() else { return };
        if free_in > most && !std::mem::replace(&mut live.long_lease_seen, true) {
            self.notice(Notice::ClockStep { local: lease, server: free_in });
        }
    }

    /// What the storage says that the session owns (R6, R7).
    fn owned_listed(
        &mut self,
        ticket: u64,
        valid_until: Instant,
        owned: &[(LeaseName, Token)],
        unknown: &[LeaseName],
    ) {
        let unknown: BTreeSet<_> = unknown.iter().collect();
        self.end_missing(ticket, owned, &unknown);
        for (name, token) in owned {
            if self.holds(name, *token) {
                self.extend(name, *token, valid_until);
            } else {
                self.claim_listed(name, *token, valid_until);
            }
        }
        self.doubts_settled(ticket, &unknown);
    }

    /// A list that was asked for after an attempt without answer has told what became of it, unless it
    /// left the name open: then the next one tells.
    fn doubts_settled(&mut self, ticket: u64, unknown: &BTreeSet<&LeaseName>) {
        let told = self.in_doubt.extract_if(.., |name, doubted| *doubted < ticket && !unknown.contains(name));
        let told: Vec<_> = told.map(|(name, _)| name).collect();
        for name in told {
            self.check_settled(&name);
        }
    }

    /// R6: ends the terms whose token was held when the keep-alive was sent and is missing in its list.
    fn end_missing(&mut self, ticket: u64, owned: &[(LeaseName, Token)], unknown: &BTreeSet<&LeaseName>) {
        let mut listed: Vec<_> = owned.iter().collect();
        listed.sort_unstable();
        let is_listed = |name: &LeaseName, token: Token| {
            listed.binary_search_by(|(n, t)| (n, t).cmp(&(name, &token))).is_ok()
        };
        let missing = |name: &LeaseName, stage: &Stage| match stage {
            Stage::Held(held) => {
                held.ticket < ticket && !is_listed(name, held.token) && !unknown.contains(name)
            }
            Stage::Idle | Stage::Waiting { .. } | Stage::Queued { .. } | Stage::Attempting(_) => false,
        };
        let leases = self.leases.iter();
        let lost: Vec<_> = leases
            .filter(|(name, lease)| missing(name, &lease.stage))
            .map(|(name, _)| name.clone())
            .collect();
        for name in lost {
            self.end(&name, Reason::LeaseLost);
            self.contend_again(&name);
            self.check_settled(&name);
        }
    }

    /// Nobody has said that the session is no more: a keep-alive without answer may have prolonged it.
    pub(super) fn lose_session(&mut self) {
        let unheard = self.live().is_some_and(|live| live.failures > 0) || self.calls.keep_alive.is_some();
        if unheard {
            self.remember_left();
        }
        self.expire_session();
    }

    /// The session is no more (R11): its terms end, its calls are dropped, the next gets a fresh id (R10).
    pub(super) fn expire_session(&mut self) {
        let Session::Live(live) = std::mem::take(&mut self.session) else { return };
        self.timers.cancel(&Timer::Renew);
        self.timers.cancel(&Timer::SessionLost);
        self.drop_calls_of_session();
        let (confirmed_at, valid_until) = (live.confirmed_at, live.valid_until);
        self.notice(Notice::SessionExpired { session: live.id.clone() });
        self.drop_releases();
        self.in_doubt.clear();
        let names: Vec<_> = self.leases.keys().cloned().collect();
        for name in names {
            self.end(&name, Reason::SessionExpired);
            self.attempt_dropped(&name);
            self.contend_again(&name);
            self.check_settled(&name);
        }
        // After the ends above: a close that overtakes them frees leases whose terms still look valid.
        self.send(Call::Close { session: live.id });
        // At once, but no faster than this: a storage could say "expired" to each fresh session.
        self.timers.set(Timer::Open, self.now.max(confirmed_at + self.timing.min_backoff));
        if self.now < valid_until {
            // R20: a clock that steps ahead leaves no session whose keep-alives could be compared.
            self.notice(Notice::ClockStep { local: confirmed_at.until(self.now), server: self.timing.lease });
        }
    }

    /// Whether that session is the present one.
    pub(super) fn is_present(&self, session: &SessionId) -> bool {
        self.live().is_some_and(|live| live.id == *session)
    }

    /// Emits one term's extension.
    fn extend(&mut self, name: &LeaseName, token: Token, valid_until: Instant) {
        let Some(held) = self.leases.get_mut(name).and_then(|lease| lease.held_mut()) else { return };
        if held.hand_over.is_none() && valid_until > held.valid_until {
            held.valid_until = valid_until;
            self.emit(Effect::Extended { name: name.clone(), token, valid_until });
        }
    }
}
