//! What this process knows of the attempts of its sessions, where a lease and its session are on different servers.
//!
//! A session's index lists every name that the session may hold. A name is listed before it is asked for, and stays
//! while a grant of it may still be under way: the index is what finds a grant whose answer was lost. Only who asked
//! knows that.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{LeaseName, SessionId, clock::since_boot};

#[derive(Default)]
pub(super) struct Known {
    sessions: Mutex<BTreeMap<SessionId, Memory>>,
}

#[derive(Default)]
struct Memory {
    attempts: BTreeMap<LeaseName, Attempts>,
    /// Names that were released since, and are listed for nothing.
    released: BTreeSet<LeaseName>,
}

/// The attempts of a name.
#[derive(Default)]
struct Attempts {
    /// When the newest began, or one was answered later: until then one may have been carried out.
    last: Duration,
    /// When those began that may still be carried out.
    open: BTreeSet<Duration>,
}

/// A change of an index: of two the one that was begun later was decided later.
pub(super) struct Change {
    pub(super) begun: Duration,
    /// What leaves the index.
    pub(super) gone: Vec<LeaseName>,
}

impl Change {
    /// Its place among all changes of this session's index.
    pub(super) fn number(&self) -> u128 {
        self.begun.as_micros()
    }
}

impl Known {
    /// Begins attempts of these names; of what was released before so many leave the index on the way.
    pub(super) fn begin(&self, session: &SessionId, names: &[LeaseName], most: usize) -> Change {
        let mut sessions = self.lock();
        let memory = sessions.entry(session.clone()).or_default();
        let begun = since_boot();
        for name in names {
            memory.released.remove(name);
            let attempts = memory.attempts.entry(name.clone()).or_default();
            attempts.last = begun;
            attempts.open.insert(begun);
        }
        let gone: Vec<_> = memory.released.iter().take(most).cloned().collect();
        for name in &gone {
            memory.released.remove(name);
        }
        Change { begun, gone }
    }

    /// An attempt that began then has been answered, or was never sent: it cannot be carried out any more.
    pub(super) fn answered(&self, session: &SessionId, begun: Duration, names: &[LeaseName]) {
        let mut sessions = self.lock();
        let Some(memory) = sessions.get_mut(session) else { return };
        let now = since_boot();
        for name in names {
            if let Some(attempts) = memory.attempts.get_mut(name) {
                attempts.last = now;
                attempts.open.remove(&begun);
            }
        }
    }

    /// These are not held any more, the storage says to a call that was sent no earlier than `begun`: what was asked
    /// for or answered since then may have been granted after it.
    pub(super) fn released(
        &self,
        session: &SessionId,
        names: impl IntoIterator<Item = LeaseName>,
        begun: Duration,
    ) {
        let mut sessions = self.lock();
        // Of a session without attempts the next keep-alive finds out.
        let Some(memory) = sessions.get_mut(session) else { return };
        for name in names {
            if memory.attempts.get(&name).is_none_or(|one| one.open.is_empty() && one.last < begun) {
                memory.attempts.remove(&name);
                memory.released.insert(name);
            }
        }
    }

    /// Parts the listed names that may be held from those that are known to be released.
    pub(super) fn sort(
        &self,
        session: &SessionId,
        listed: Vec<LeaseName>,
    ) -> (Vec<LeaseName>, Vec<LeaseName>) {
        let mut sessions = self.lock();
        let Some(memory) = sessions.get_mut(session) else { return (listed, Vec::new()) };
        listed.into_iter().partition(|name| !memory.released.contains(name))
    }

    /// Which of the names that a keep-alive found not held leave the index. It was sent at `since`. A grant that is
    /// under way for longer than a lease comes when its session's time is over.
    pub(super) fn lost(
        &self,
        session: &SessionId,
        names: Vec<LeaseName>,
        since: Duration,
        lease: Duration,
    ) -> Change {
        let mut sessions = self.lock();
        let begun = since_boot();
        let Some(memory) = sessions.get_mut(session) else { return Change { begun, gone: names } };
        let is_over = |attempts: &Attempts| {
            attempts.last < since && attempts.open.iter().all(|begun| begun.saturating_add(lease) < since)
        };
        memory.attempts.retain(|_, attempts| !is_over(attempts));
        let gone: Vec<_> = names.into_iter().filter(|name| !memory.attempts.contains_key(name)).collect();
        for name in &gone {
            memory.released.remove(name);
        }
        if memory.attempts.is_empty() && memory.released.is_empty() {
            sessions.remove(session);
        }
        Change { begun, gone }
    }

    /// The session is no more.
    pub(super) fn ended(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Memory>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(10);

    fn name() -> LeaseName {
        "n".parse().unwrap()
    }

    /// After all that has been done.
    fn later() -> Duration {
        since_boot() + Duration::from_millis(1)
    }

    fn lost(known: &Known, session: &SessionId, since: Duration) -> Vec<LeaseName> {
        known.lost(session, vec![name()], since, LEASE).gone
    }

    #[test]
    fn a_name_stays_listed_while_a_grant_of_it_may_be_under_way() {
        let (known, session) = (Known::default(), SessionId::random());
        let abandoned = known.begin(&session, &[name()], 9).begun;
        assert!(lost(&known, &session, abandoned + LEASE).is_empty());
        let answered = known.begin(&session, &[name()], 9).begun;
        known.answered(&session, answered, &[name()]);
        known.released(&session, [name()], since_boot() + LEASE);
        assert!(lost(&known, &session, answered + LEASE / 2).is_empty(), "the first is still open");
        assert_eq!(lost(&known, &session, abandoned + LEASE * 2), [name()]);
        assert!(known.lock().is_empty(), "nothing is left to remember");
    }

    #[test]
    fn an_attempt_that_began_after_the_keep_alive_keeps_its_name_listed() {
        let (known, session) = (Known::default(), SessionId::random());
        let sent = since_boot();
        let begun = known.begin(&session, &[name()], 9).begun;
        known.answered(&session, begun, &[name()]);
        assert!(lost(&known, &session, sent).is_empty());
        assert_eq!(lost(&known, &session, later()), [name()]);
    }

    /// The lease was looked at before it was granted.
    #[test]
    fn an_attempt_that_was_answered_after_the_keep_alive_was_sent_keeps_its_name_listed() {
        let (known, session) = (Known::default(), SessionId::random());
        let begun = known.begin(&session, &[name()], 9).begun;
        let sent = begun + Duration::from_nanos(1);
        known.answered(&session, begun, &[name()]);
        assert!(lost(&known, &session, sent).is_empty());
        assert_eq!(lost(&known, &session, later()), [name()]);
    }

    #[test]
    fn a_release_that_was_sent_before_a_grant_was_answered_takes_it_not_out_of_the_list() {
        let (known, session) = (Known::default(), SessionId::random());
        let begun = known.begin(&session, &[name()], 9).begun;
        let released = begun + Duration::from_nanos(1);
        known.answered(&session, begun, &[name()]);
        known.released(&session, [name()], released);
        assert_eq!(known.sort(&session, vec![name()]), (vec![name()], vec![]));
    }

    #[test]
    fn a_release_that_is_answered_late_takes_no_newer_grant_out_of_the_list() {
        let (known, session) = (Known::default(), SessionId::random());
        let released = since_boot();
        let begun = known.begin(&session, &[name()], 9).begun;
        known.answered(&session, begun, &[name()]);
        known.released(&session, [name()], released);
        assert_eq!(known.sort(&session, vec![name()]), (vec![name()], vec![]));
    }

    #[test]
    fn what_was_released_leaves_with_the_next_attempt_unless_that_is_about_it() {
        let (known, session) = (Known::default(), SessionId::random());
        let begun = known.begin(&session, &[name()], 9).begun;
        known.answered(&session, begun, &[name()]);
        known.released(&session, [name()], since_boot() + LEASE);
        assert_eq!(known.sort(&session, vec![name()]), (vec![], vec![name()]));
        let again = known.begin(&session, &[name()], 9);
        assert!(again.gone.is_empty());
        known.answered(&session, again.begun, &[name()]);
        known.released(&session, [name()], since_boot() + LEASE);
        assert_eq!(known.begin(&session, &["other".parse().unwrap()], 9).gone, [name()]);
        known.ended(&session);
        known.released(&session, [name()], since_boot() + LEASE);
        assert!(known.lock().is_empty(), "a session that has ended is not remembered");
    }
}
