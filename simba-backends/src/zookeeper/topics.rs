//! Who wants to hear of which lease or group, and what is to be done at the ensemble for it. No clock, no connection.
//!
//! ```text
//!  want         watched and looked at      last unwant            LINGER later
//!   │ ── Due, Asked ──► │ ────── Live ──────► │ ── Live, lingering ──► │ left
//! ```
//!
//! # Why a want of a live topic needs no look
//! The watch is on one connection with the look that followed it, so that the last of all that came in is the state of
//! the lease as that server has it. A lease that was free when it was refused to whom wants it now is so already, and
//! hinted at once, or its deletion is still to come in.

use std::{
    collections::{BTreeMap, BTreeSet},
    task::Context,
    time::Duration,
};

use super::{
    sight::{Look, Sight, Worth},
    subject::{Change, Subject},
    waves,
};
use crate::{
    Hint, LeaseName,
    mailbox::{Mailboxes, News, SourceId, Woken},
};

/// How long a watch outlasts its last want: a contended lease is held for moments and wanted again.
const LINGER: Duration = Duration::from_secs(1);

/// With more leases than that one watch sees all there are, and with fewer than half of it each has its own again.
const MANY: usize = 256;

/// How many calls are under way for one step.
const BATCH: usize = 500;

#[derive(Default)]
pub(super) struct Topics {
    sources: Mailboxes<Subject>,
    topics: BTreeMap<Subject, Topic>,
    /// How many of them are leases.
    leases: usize,
    due: BTreeSet<Subject>,
    /// Not watched again since a connection was lost; one gap tells of them all.
    again: BTreeSet<Subject>,
    continuity: Continuity,
    way: Way,
    /// Wanted by nobody, by when each is to be left.
    lingering: BTreeSet<(Duration, Subject)>,
    /// How many sessions there are, of whatever process.
    sessions: u32,
    /// Freed a moment ago, by when each is to be told of.
    put_off: BTreeSet<(Duration, Subject)>,
}

#[derive(Default)]
struct Topic {
    wanted_by: BTreeSet<SourceId>,
    stage: Stage,
    sight: Sight,
    /// When it is to be left; none while somebody wants it.
    leaves_at: Option<Duration>,
    /// When it is to be told of.
    told_at: Option<Duration>,
}

/// How far the watch of a topic is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Due,
    Asked,
    Live,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Continuity {
    #[default]
    Whole,
    /// A connection was lost, and nobody has been told yet.
    Interrupted,
}

/// How leases are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Way {
    #[default]
    Each,
    /// Each, and the watch of all has been asked for.
    Gathering,
    /// Each, and all.
    Gathered,
    All,
    /// All, and each has been asked for.
    Parting,
}

/// What the task does next, one after the other.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Watches each of them, and looks at it.
    Watch(Vec<Subject>),
    /// Begins to watch all leases that there are.
    WatchAll,
    /// Looks at these, which are watched.
    Look(Vec<Subject>),
    /// Watches these no more.
    Leave(Vec<Subject>),
    /// Watches no lease by itself any more.
    LeaveEach,
    /// Watches all leases that there are no more.
    LeaveAll,
    Rest,
}

/// How far things were when a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    None,
    Listened,
}

/// Sources, and their wishes.
impl Topics {
    pub(super) fn add_source(&mut self) -> SourceId {
        self.sources.open()
    }

    pub(super) fn remove_source(&mut self, id: SourceId, now: Duration) {
        let wanted = self.topics.iter().filter(|(_, topic)| topic.wanted_by.contains(&id));
        let wanted: Vec<_> = wanted.map(|(subject, _)| subject.clone()).collect();
        for subject in wanted {
            self.unwant(id, &subject, now);
        }
        self.sources.close(id);
    }

    pub(super) fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Whether there is anything to be connected for.
    pub(super) fn is_wanting(&self) -> bool {
        !self.topics.is_empty()
    }

    pub(super) fn want(&mut self, id: SourceId, subject: &Subject) {
        if !self.topics.contains_key(subject) {
            self.due.insert(subject.clone());
            self.leases += usize::from(subject.is_lease());
        }
        let topic = self.topics.entry(subject.clone()).or_default();
        topic.wanted_by.insert(id);
        if let Some(at) = topic.leaves_at.take() {
            self.lingering.remove(&(at, subject.clone()));
        }
        let is_due_to_look = match subject {
            Subject::Lease(_) => topic.sight.is_free(),
            Subject::Group(_) => topic.stage == Stage::Live,
        };
        if is_due_to_look {
            self.sources.put(id, subject);
        }
    }

    pub(super) fn unwant(&mut self, id: SourceId, subject: &Subject, now: Duration) {
        let Some(topic) = self.topics.get_mut(subject) else { return };
        if !topic.wanted_by.remove(&id) {
            return;
        }
        self.sources.forget(id, subject);
        if !topic.wanted_by.is_empty() {
            return;
        }
        match topic.stage {
            Stage::Due => self.forget(subject),
            Stage::Asked | Stage::Live => {
                topic.leaves_at = Some(now + LINGER);
                self.lingering.insert((now + LINGER, subject.clone()));
            }
        }
    }

    pub(super) fn next_hint(&mut self, id: SourceId, cx: &Context<'_>) -> Option<Hint> {
        Some(match self.sources.take(id, cx)? {
            News::Gap => Hint::Gap,
            News::About(Subject::Lease(name)) => {
                let waiters = (self.sessions > 0).then(|| waves::going(self.sessions));
                Hint::Released { name, waiters }
            }
            News::About(Subject::Group(group)) => Hint::Members(group),
        })
    }

    /// Those that somebody has taken a moment ago, as far as is known: to try them would be in vain.
    pub(super) fn just_taken<'n>(&self, names: &'n [LeaseName], now: Duration) -> BTreeSet<&'n LeaseName> {
        if self.leases == 0 {
            return BTreeSet::new();
        }
        let is_taken = |name: &&LeaseName| {
            let topic = self.topics.get(&Subject::Lease((*name).clone()));
            topic.is_some_and(|topic| topic.sight.is_just_taken(now))
        };
        names.iter().filter(is_taken).collect()
    }

    /// A session of this backend has begun or ended a term of these.
    pub(super) fn own_terms<'n>(&mut self, names: impl Iterator<Item = &'n LeaseName>, now: Duration) {
        if self.leases == 0 {
            return;
        }
        for name in names {
            if let Some(topic) = self.topics.get_mut(&Subject::Lease(name.clone())) {
                topic.sight.own_term(now);
            }
        }
    }

    pub(super) fn take_woken(&mut self) -> Woken {
        self.sources.take_woken()
    }

    /// Tells every source that something may have been missed.
    pub(super) fn tell_all(&mut self) {
        self.sources.put_gap();
    }
}

/// What the task does and hears.
impl Topics {
    /// Asked for again only when the step before has been begun.
    pub(super) fn next_step(&mut self, now: Duration) -> Step {
        self.tell_of_gap();
        self.tell_what_was_put_off(now);
        if let Some(step) = self.change_way() {
            return step;
        }
        let due: Vec<_> = self.due.iter().filter(|due| self.is_timely(due)).take(BATCH).cloned().collect();
        for subject in &due {
            self.due.remove(subject);
            self.set_stage(subject, Stage::Asked);
        }
        if due.is_empty() {
            let left = self.leave(now);
            return if left.is_empty() { Step::Rest } else { Step::Leave(left) };
        }
        if self.way != Way::All {
            return Step::Watch(due);
        }
        // Groups each have a watch of their own anyway.
        let (names, groups): (Vec<_>, Vec<_>) = due.into_iter().partition(Subject::is_lease);
        if groups.is_empty() {
            return Step::Look(names);
        }
        names.into_iter().for_each(|name| self.make_due(name));
        Step::Watch(groups)
    }

    /// Leases wait while nobody knows how they will be watched.
    fn is_timely(&self, subject: &Subject) -> bool {
        self.way != Way::Gathering || !subject.is_lease()
    }

    fn change_way(&mut self) -> Option<Step> {
        let (way, step) = match self.way {
            Way::Each if self.leases > MANY => (Way::Gathering, Some(Step::WatchAll)),
            Way::All if self.leases < MANY / 2 => {
                self.leases_in(|_| true).into_iter().for_each(|lease| self.make_due(lease));
                (Way::Parting, None)
            }
            Way::Gathered => {
                self.gathered();
                (Way::All, Some(Step::LeaveEach))
            }
            Way::Parting if self.leases > MANY => {
                self.gathered();
                (Way::All, Some(Step::LeaveEach))
            }
            Way::Parting if self.leases_in(|stage| stage != Stage::Live).is_empty() => {
                (Way::Each, Some(Step::LeaveAll))
            }
            Way::Each | Way::Gathering | Way::All | Way::Parting => return None,
        };
        self.way = way;
        step
    }

    /// The watch of all leases stands.
    pub(super) fn watching_all(&mut self) {
        if self.way == Way::Gathering {
            self.way = Way::Gathered;
        }
    }

    /// Each watch of a lease goes: what it has not told yet is to be looked at.
    fn gathered(&mut self) {
        self.leases_in(|stage| stage == Stage::Asked).into_iter().for_each(|lease| self.make_due(lease));
    }

    /// It is watched from now on, and this is what a look has found since.
    pub(super) fn looked(&mut self, subject: &Subject, look: Look) {
        let is_known_by_gap = self.again.remove(subject);
        if let Some(topic) = self.topics.get_mut(subject)
            && topic.stage == Stage::Asked
        {
            topic.stage = Stage::Live;
            let worth = match subject {
                Subject::Lease(_) => topic.sight.looked(look),
                Subject::Group(_) => Worth::Hint,
            };
            if worth == Worth::Hint && !is_known_by_gap {
                self.tell(subject);
            }
        }
        self.tell_of_gap();
    }

    /// How many sessions there are was looked at.
    pub(super) fn counted(&mut self, sessions: u32) {
        self.sessions = sessions;
    }

    /// It is told of at once, or later if many may wait: by lot.
    pub(super) fn changed(&mut self, subject: &Subject, change: Change, now: Duration, lot: u32) {
        let Some(topic) = self.topics.get_mut(subject) else { return };
        let worth = match subject {
            Subject::Lease(_) => topic.sight.changed(change, now),
            Subject::Group(_) => Worth::Hint,
        };
        self.cancel(subject);
        if worth == Worth::Nothing {
            return;
        }
        let wait = if subject.is_lease() { waves::delay(self.sessions, lot) } else { Duration::ZERO };
        if wait.is_zero() {
            return self.tell(subject);
        }
        if let Some(topic) = self.topics.get_mut(subject) {
            topic.told_at = Some(now + wait);
            self.put_off.insert((now + wait, subject.clone()));
        }
    }

    /// When the next of those is to be told that were put off.
    pub(super) fn next_told(&self) -> Option<Duration> {
        self.put_off.first().map(|(at, _)| *at)
    }

    fn tell_what_was_put_off(&mut self, now: Duration) {
        while self.next_told().is_some_and(|at| at <= now) {
            let Some((_, subject)) = self.put_off.pop_first() else { break };
            if let Some(topic) = self.topics.get_mut(&subject) {
                topic.told_at = None;
            }
            self.tell(&subject);
        }
    }

    /// What was put off is not to be told any more.
    fn cancel(&mut self, subject: &Subject) {
        if let Some(at) = self.topics.get_mut(subject).and_then(|topic| topic.told_at.take()) {
            self.put_off.remove(&(at, subject.clone()));
        }
    }

    /// The connection is none any more, and with it all watches. Whether any of them stood.
    pub(super) fn lost(&mut self) -> Progress {
        self.lingering.clear();
        self.put_off.clear();
        self.way = Way::Each;
        let is_live = self.topics.values().any(|topic| topic.stage == Stage::Live);
        self.topics.retain(|_, topic| !topic.wanted_by.is_empty());
        self.leases = self.topics.keys().filter(|subject| subject.is_lease()).count();
        self.again.retain(|subject| self.topics.contains_key(subject));
        for (subject, topic) in &mut self.topics {
            topic.sight.lost();
            topic.told_at = None;
            if std::mem::take(&mut topic.stage) != Stage::Due {
                self.again.insert(subject.clone());
                self.continuity = Continuity::Interrupted;
            }
        }
        self.due = self.topics.keys().cloned().collect();
        if is_live { Progress::Listened } else { Progress::None }
    }

    fn tell(&mut self, subject: &Subject) {
        if let Some(topic) = self.topics.get(subject) {
            topic.wanted_by.iter().for_each(|id| self.sources.put(*id, subject));
        }
    }

    fn tell_of_gap(&mut self) {
        if self.again.is_empty() && std::mem::take(&mut self.continuity) == Continuity::Interrupted {
            self.tell_all();
        }
    }

    /// Forgets what has lingered for long enough.
    fn leave(&mut self, now: Duration) -> Vec<Subject> {
        let mut left = Vec::new();
        while self.lingering.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, subject)) = self.lingering.pop_first() else { break };
            self.forget(&subject);
            left.push(subject);
        }
        left
    }

    fn forget(&mut self, subject: &Subject) {
        self.cancel(subject);
        if self.topics.remove(subject).is_some() {
            self.leases -= usize::from(subject.is_lease());
        }
        self.due.remove(subject);
        self.again.remove(subject);
    }

    fn leases_in(&self, is_meant: impl Fn(Stage) -> bool) -> Vec<Subject> {
        let meant = self.topics.iter().filter(|(subject, topic)| subject.is_lease() && is_meant(topic.stage));
        meant.map(|(subject, _)| subject.clone()).collect()
    }

    fn make_due(&mut self, subject: Subject) {
        self.set_stage(&subject, Stage::Due);
        self.due.insert(subject);
    }

    fn set_stage(&mut self, subject: &Subject, stage: Stage) {
        if let Some(topic) = self.topics.get_mut(subject) {
            topic.stage = stage;
        }
    }
}

#[cfg(test)]
mod tests;
