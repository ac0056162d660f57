//! The contract as plain functions of a state and a time.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    Acquired, Acquisition, GroupName, Hint, Holder, Joined, KeepAlive, LeaseName, Member, Metadata,
    SessionId, Token,
};

/// How often dead sessions are looked for, and how many are removed at once (S6).
const PURGE_INTERVAL: Duration = Duration::from_secs(60);
const PURGE_BATCH: usize = 1000;

/// Sessions, leases and memberships. A lease entry is never removed, so its token never resets (L2).
#[derive(Debug, Default)]
pub(super) struct Store {
    sessions: BTreeMap<SessionId, Session>,
    leases: BTreeMap<LeaseName, Lease>,
    members: BTreeMap<GroupName, BTreeSet<SessionId>>,
    /// How many subscriptions want to hear of a name.
    waiters: BTreeMap<LeaseName, u32>,
    purge_due: Duration,
    hints: Vec<Hint>,
}

#[derive(Debug)]
struct Session {
    expires_at: Duration,
    renewed_at: Duration,
    metadata: Metadata,
    /// What it holds, so that a keep-alive need not look at every lease.
    owned: BTreeMap<LeaseName, Token>,
    groups: BTreeSet<GroupName>,
}

#[derive(Debug)]
struct Lease {
    session: Option<SessionId>,
    token: Token,
}

impl Store {
    pub(super) fn open(&mut self, now: Duration, id: SessionId, lease: Duration, metadata: Metadata) {
        self.purge(now);
        let session = Session {
            expires_at: now + lease,
            renewed_at: now,
            metadata,
            owned: BTreeMap::new(),
            groups: BTreeSet::new(),
        };
        self.sessions.insert(id, session);
    }

    pub(super) fn keep_alive(&mut self, now: Duration, id: &SessionId, lease: Duration) -> KeepAlive {
        self.purge(now);
        let Some(session) = self.live(now, id) else {
            self.remove(id);
            return KeepAlive::Expired;
        };
        let server_elapsed = Some(now - session.renewed_at);
        session.renewed_at = now;
        session.expires_at = session.expires_at.max(now + lease);
        KeepAlive::Live {
            remaining: session.expires_at - now,
            owned: session.owned.iter().map(|(name, token)| (name.clone(), *token)).collect(),
            unknown: Vec::new(),
            groups: session.groups.iter().cloned().collect(),
            server_elapsed,
        }
    }

    /// Removes a session, whether it lives or not, and frees all it has.
    pub(super) fn remove(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.remove(id) else { return };
        for name in session.owned.into_keys() {
            self.free(&name);
        }
        for group in session.groups {
            self.drop_member(id, &group);
        }
    }

    pub(super) fn acquire(&mut self, now: Duration, id: &SessionId, names: &[LeaseName]) -> Acquired {
        if self.live(now, id).is_none() {
            return Acquired::Expired;
        }
        let answer = |name: &LeaseName| (name.clone(), self.acquire_one(now, id, name));
        Acquired::Answers(names.iter().map(answer).collect())
    }

    fn acquire_one(&mut self, now: Duration, id: &SessionId, name: &LeaseName) -> Acquisition {
        let remaining = self.left(now, id);
        let (holder, token) = match self.leases.get(name) {
            None => (None, None),
            Some(lease) => (lease.session.clone(), Some(lease.token)),
        };
        match (holder, token) {
            (Some(holder), Some(token)) if holder == *id => Acquisition::AlreadyOwned { token, remaining },
            (Some(holder), _) if self.live(now, &holder).is_some() => {
                Acquisition::Held { free_in: Some(self.left(now, &holder)) }
            }
            (dead, token) => {
                if let Some(session) = dead.and_then(|dead| self.sessions.get_mut(&dead)) {
                    session.owned.remove(name);
                }
                self.grant(id, name, next(token), remaining)
            }
        }
    }

    fn grant(&mut self, id: &SessionId, name: &LeaseName, token: Token, remaining: Duration) -> Acquisition {
        self.leases.insert(name.clone(), Lease { session: Some(id.clone()), token });
        if let Some(session) = self.sessions.get_mut(id) {
            session.owned.insert(name.clone(), token);
        }
        Acquisition::Granted { token, remaining }
    }

    pub(super) fn release(&mut self, id: &SessionId, name: &LeaseName, token: Token) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.owned.get(name) == Some(&token) {
            session.owned.remove(name);
            self.free(name);
        }
    }

    pub(super) fn join(&mut self, now: Duration, id: &SessionId, group: &GroupName) -> Joined {
        let Some(session) = self.live(now, id) else { return Joined::Expired };
        session.groups.insert(group.clone());
        self.members.entry(group.clone()).or_default().insert(id.clone());
        self.hints.push(Hint::Members(group.clone()));
        Joined::Member
    }

    pub(super) fn leave(&mut self, id: &SessionId, group: &GroupName) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.groups.remove(group);
        }
        self.drop_member(id, group);
    }

    pub(super) fn members(&self, now: Duration, group: &GroupName) -> Vec<Member> {
        let ids = self.members.get(group).into_iter().flatten();
        let sessions = ids.filter_map(|id| Some((id, self.sessions.get(id)?)));
        sessions
            .filter(|(_, session)| session.expires_at > now)
            .map(|(id, session)| Member { session: id.clone(), metadata: session.metadata.clone() })
            .collect()
    }

    pub(super) fn inspect(&self, now: Duration, name: &LeaseName) -> Option<Holder> {
        let lease = self.leases.get(name)?;
        let id = lease.session.as_ref()?;
        let session = self.sessions.get(id).filter(|session| session.expires_at > now)?;
        Some(Holder {
            session: id.clone(),
            metadata: session.metadata.clone(),
            token: lease.token,
            free_in: Some(session.expires_at - now),
        })
    }

    pub(super) fn is_free(&self, now: Duration, name: &LeaseName) -> bool {
        self.inspect(now, name).is_none()
    }

    pub(super) fn wait_for(&mut self, name: &LeaseName) {
        *self.waiters.entry(name.clone()).or_default() += 1;
    }

    pub(super) fn wait_no_more_for(&mut self, name: &LeaseName) {
        let Some(waiters) = self.waiters.get_mut(name) else { return };
        *waiters -= 1;
        if *waiters == 0 {
            self.waiters.remove(name);
        }
    }

    /// The hint that a name is free, for as many as wait for it.
    pub(super) fn released(&self, name: &LeaseName) -> Hint {
        let waiters = self.waiters.get(name).copied().unwrap_or_default();
        Hint::Released { name: name.clone(), waiters: Some(waiters) }
    }

    /// The hints that the last steps gave rise to.
    pub(super) fn take_hints(&mut self) -> Vec<Hint> {
        std::mem::take(&mut self.hints)
    }

    fn live(&mut self, now: Duration, id: &SessionId) -> Option<&mut Session> {
        self.sessions.get_mut(id).filter(|session| session.expires_at > now)
    }

    fn left(&self, now: Duration, id: &SessionId) -> Duration {
        self.sessions.get(id).map_or(Duration::ZERO, |session| session.expires_at.saturating_sub(now))
    }

    fn free(&mut self, name: &LeaseName) {
        if let Some(lease) = self.leases.get_mut(name) {
            lease.session = None;
            let hint = self.released(name);
            self.hints.push(hint);
        }
    }

    fn drop_member(&mut self, id: &SessionId, group: &GroupName) {
        let Some(members) = self.members.get_mut(group) else { return };
        if members.remove(id) {
            self.hints.push(Hint::Members(group.clone()));
        }
        if members.is_empty() {
            self.members.remove(group);
        }
    }

    fn purge(&mut self, now: Duration) {
        if now < self.purge_due {
            return;
        }
        self.purge_due = now + PURGE_INTERVAL;
        let dead = self.sessions.iter().filter(|(_, session)| session.expires_at <= now);
        let dead: Vec<_> = dead.map(|(id, _)| id.clone()).take(PURGE_BATCH).collect();
        for id in dead {
            self.remove(&id);
        }
    }
}

fn next(token: Option<Token>) -> Token {
    let number = token.map_or(1, |token| token.get() + 1);
    Token::new(number).expect("no name has had 2^63 terms")
}
