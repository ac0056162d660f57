//! Releases: each names session, lease and token (R8), and is sent again and again until the storage has
//! confirmed it or the session is no more (R7).

use std::collections::{BTreeMap, BTreeSet};

use simba_backends::{BackendError, LeaseName, Release, Token};

use super::{Call, Engine, Notice, Timer};

/// How many leases travel in one call at most.
const BATCH: usize = 1000;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Releases {
    /// What the storage has not confirmed, with the failures so far.
    pending: BTreeMap<(LeaseName, Token), u32>,
    /// Those of them that wait for the next call.
    due: BTreeSet<(LeaseName, Token)>,
}

impl Releases {
    pub(super) fn pending(&self, name: &LeaseName) -> bool {
        let first = self.pending.range((name.clone(), Token::MIN)..).next();
        first.is_some_and(|((first, _), _)| first == name)
    }

    pub(super) fn due(&mut self, name: &LeaseName, token: Token) {
        let release = (name.clone(), token);
        if self.pending.contains_key(&release) {
            self.due.insert(release);
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &LeaseName> {
        self.pending.keys().map(|(name, _)| name)
    }
}

impl Engine {
    /// Decides that a token is to be released: it never starts a term from now on (R1), and the name is
    /// not asked for before that is confirmed.
    pub(super) fn release(&mut self, name: &LeaseName, token: Token) {
        self.floors.raise(name, token);
        self.stop_waiting(name);
        let release = (name.clone(), token);
        if !self.releases.pending.contains_key(&release) {
            self.releases.pending.insert(release.clone(), 0);
            self.releases.due.insert(release);
        }
    }

    pub(super) fn dispatch_releases(&mut self) {
        if self.calls.release.is_some() || self.releases.due.is_empty() || self.close_frees_all() {
            return;
        }
        let Some(session) = self.live().map(|live| live.id.clone()) else { return };
        let mut leases = Vec::new();
        while leases.len() < BATCH
            && let Some(release) = self.releases.due.pop_first()
        {
            leases.push(release);
        }
        self.calls.release = Some(self.send(Call::Release { session, leases }));
    }

    pub(super) fn released(
        &mut self,
        leases: &[(LeaseName, Token)],
        answer: Result<Vec<(LeaseName, Release)>, BackendError>,
    ) {
        let answers = answer.unwrap_or_default();
        // An answer names no token: of two tokens of one name, both are gone or both are tried again.
        let mut gone = BTreeMap::new();
        for (name, release) in &answers {
            *gone.entry(name).or_insert(true) &= matches!(release, Release::Gone);
        }
        for (name, token) in leases {
            if gone.get(name) == Some(&true) {
                self.release_confirmed(name, *token);
            } else {
                self.release_failed(name, *token);
            }
        }
    }

    fn release_confirmed(&mut self, name: &LeaseName, token: Token) {
        self.releases.pending.remove(&(name.clone(), token));
        self.notice(Notice::Released { name: name.clone(), token });
        self.contend_again(name);
        self.check_settled(name);
    }

    fn release_failed(&mut self, name: &LeaseName, token: Token) {
        let Some(failures) = self.releases.pending.get_mut(&(name.clone(), token)) else { return };
        *failures = failures.saturating_add(1);
        let pause = self.timing.backoff(*failures);
        self.timers.set(Timer::Release(name.clone(), token), self.now + pause);
    }

    /// The session is no more, and with it all it held.
    pub(super) fn drop_releases(&mut self) {
        for (name, token) in std::mem::take(&mut self.releases).pending.into_keys() {
            self.timers.cancel(&Timer::Release(name, token));
        }
    }
}
