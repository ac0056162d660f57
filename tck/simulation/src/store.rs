//! The simulated storage: the contract as plain functions of a state and a time, with its flaws.

use std::{collections::BTreeMap, time::Duration};

use simba_backends::{Acquisition, KeepAlive, LeaseName, Opened, SessionId, Token};

use crate::plan::Flaw;

/// Sessions and leases, by the storage's own clock.
#[derive(Clone, Debug, Default)]
pub struct Store {
    sessions: BTreeMap<SessionId, Session>,
    leases: BTreeMap<LeaseName, Lease>,
    /// Names that the last calls freed.
    freed: Vec<LeaseName>,
    opened: u64,
    /// How far its clock has stepped ahead of true time.
    ahead: Duration,
    flaw: Option<Flaw>,
}

#[derive(Clone, Debug)]
struct Session {
    expires_at: Duration,
    renewed_at: Duration,
}

#[derive(Clone, Debug)]
struct Lease {
    holder: Option<SessionId>,
    token: Token,
    /// The holder's first token; a later one if it lost the lease and took it again.
    first: Token,
    /// Granted to a request that nobody waited for any more.
    late: bool,
}

impl Store {
    /// An empty storage.
    pub fn new(flaw: Option<Flaw>) -> Self {
        Self { flaw, ..Self::default() }
    }

    /// S1.
    pub fn open(&mut self, now: Duration, lease: Duration) -> Opened {
        let now = now + self.ahead;
        let dead = self.sessions.iter().find(|(_, session)| session.expires_at <= now);
        let session = match dead.filter(|_| self.flaw == Some(Flaw::ReusedIds)) {
            Some((id, _)) => id.clone(),
            None => self.fresh_id(),
        };
        self.sessions.insert(session.clone(), Session { expires_at: now + lease, renewed_at: now });
        Opened { session, remaining: lease }
    }

    fn fresh_id(&mut self) -> SessionId {
        self.opened += 1;
        format!("s{}", self.opened).parse().expect("an id of letters and digits")
    }

    /// S2, S3, S8. `waited` is how long the request waited on a lock.
    pub fn keep_alive(
        &mut self,
        now: Duration,
        waited: Duration,
        id: &SessionId,
        lease: Duration,
    ) -> KeepAlive {
        let now = now + self.ahead;
        let shortens = self.flaw == Some(Flaw::ShorteningKeepAlive);
        let Some(session) = self.sessions.get_mut(id).filter(|session| session.expires_at > now) else {
            self.close(id);
            return KeepAlive::Expired;
        };
        let server_elapsed = Some(now.saturating_sub(session.renewed_at));
        session.renewed_at = now;
        session.expires_at =
            if shortens { (now + lease).saturating_sub(waited) } else { session.expires_at.max(now + lease) };
        let remaining = session.expires_at.saturating_sub(now);
        let owned = self.leases.iter().filter(|(_, lease)| lease.holder.as_ref() == Some(id));
        KeepAlive::Live {
            remaining,
            owned: owned.map(|(name, lease)| (name.clone(), lease.token)).collect(),
            unknown: Vec::new(),
            groups: Vec::new(),
            server_elapsed,
        }
    }

    /// S4.
    pub fn close(&mut self, id: &SessionId) {
        self.sessions.remove(id);
        for (name, lease) in &mut self.leases {
            if lease.holder.as_ref() == Some(id) {
                lease.holder = None;
                self.freed.push(name.clone());
            }
        }
    }

    /// L1 to L5, L7.
    pub fn acquire(&mut self, now: Duration, id: &SessionId, name: &LeaseName, late: bool) -> Acquisition {
        let remaining = self.left(now, id);
        let lease = self.leases.get(name);
        let holder = lease.and_then(|lease| Some((lease.holder.clone()?, lease.token)));
        match holder {
            Some((holder, token)) if holder == *id => Acquisition::AlreadyOwned { token, remaining },
            Some((holder, _)) if self.is_live(now, &holder) => {
                Acquisition::Held { free_in: Some(self.left(now, &holder)) }
            }
            Some(_) | None => {
                let token = next(lease.map(|lease| lease.token));
                let lease = Lease { holder: Some(id.clone()), token, first: token, late };
                self.leases.insert(name.clone(), lease);
                Acquisition::Granted { token, remaining }
            }
        }
    }

    /// L6.
    pub fn release(&mut self, id: &SessionId, name: &LeaseName, token: Token) {
        let by_name = self.flaw == Some(Flaw::ReleaseByName);
        let Some(lease) = self.leases.get_mut(name) else { return };
        if lease.holder.as_ref() == Some(id) && (by_name || lease.token == token) {
            lease.holder = None;
            self.freed.push(name.clone());
        }
    }

    /// The holder loses the lease and takes it again, before anybody else could.
    pub fn retake(&mut self, now: Duration, name: &LeaseName) {
        if self.holder(now, name).is_none() {
            return;
        }
        if let Some(lease) = self.leases.get_mut(name) {
            lease.token = next(Some(lease.token));
            lease.late = true;
        }
    }

    /// Whether that session holds that token, or held it until it took the lease again.
    pub fn vouches(&self, now: Duration, id: &SessionId, name: &LeaseName, token: Token) -> bool {
        let Some(lease) = self.leases.get(name) else { return false };
        let is_holder = lease.holder.as_ref() == Some(id) && self.is_live(now, id);
        is_holder && (lease.first..=lease.token).contains(&token)
    }

    /// Who holds a name, and with which token.
    pub fn holder(&self, now: Duration, name: &LeaseName) -> Option<(&SessionId, Token)> {
        let lease = self.leases.get(name)?;
        let holder = lease.holder.as_ref()?;
        self.is_live(now, holder).then_some((holder, lease.token))
    }

    /// Whether the newest grant of that name went to a request that nobody waited for any more.
    pub fn was_late(&self, name: &LeaseName) -> bool {
        self.leases.get(name).is_some_and(|lease| lease.late)
    }

    /// Whether that session lives.
    pub fn is_live(&self, now: Duration, id: &SessionId) -> bool {
        !self.left(now, id).is_zero()
    }

    /// When that session expires, in true time.
    pub fn expires_at(&self, id: &SessionId) -> Option<Duration> {
        Some(self.sessions.get(id)?.expires_at.saturating_sub(self.ahead))
    }

    /// The names that the last calls freed.
    pub fn take_freed(&mut self) -> Vec<LeaseName> {
        std::mem::take(&mut self.freed)
    }

    /// Steps its clock forward.
    pub fn step_clock(&mut self, by: Duration) {
        self.ahead += by;
    }

    /// Loses what was committed since that copy was taken. Ids are not made from what is stored.
    pub fn restore(&mut self, copy: &Self) {
        self.sessions.clone_from(&copy.sessions);
        self.leases.clone_from(&copy.leases);
    }

    fn left(&self, now: Duration, id: &SessionId) -> Duration {
        let now = now + self.ahead;
        self.sessions.get(id).map_or(Duration::ZERO, |session| session.expires_at.saturating_sub(now))
    }
}

fn next(token: Option<Token>) -> Token {
    Token::new(token.map_or(1, |token| token.get() + 1)).expect("no name has had 2^63 terms")
}
