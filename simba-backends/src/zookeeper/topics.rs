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
mod tests {
    use std::task::Waker;

    use super::*;

    const START: Duration = Duration::from_secs(100);

    fn lease(text: &str) -> Subject {
        Subject::Lease(text.parse().unwrap())
    }

    fn group(text: &str) -> Subject {
        Subject::Group(text.parse().unwrap())
    }

    fn leases(count: usize) -> Vec<Subject> {
        (0..count).map(|number| lease(&format!("n-{number:05}"))).collect()
    }

    /// Two sources that want nothing.
    fn two() -> (Topics, SourceId, SourceId) {
        let mut topics = Topics::default();
        let (a, b) = (topics.add_source(), topics.add_source());
        (topics, a, b)
    }

    fn read(topics: &mut Topics, id: SourceId) -> Vec<Hint> {
        let cx = Context::from_waker(Waker::noop());
        std::iter::from_fn(|| topics.next_hint(id, &cx)).collect()
    }

    fn free(text: &str) -> Hint {
        Hint::Released { name: text.parse().unwrap(), waiters: None }
    }

    /// Does what is due until nothing is, and finds everything there. What was done.
    fn settle(topics: &mut Topics, now: Duration) -> Vec<Step> {
        let mut done = Vec::new();
        loop {
            let step = topics.next_step(now);
            match &step {
                Step::Watch(subjects) | Step::Look(subjects) => {
                    subjects.iter().for_each(|subject| topics.looked(subject, Look::There));
                }
                Step::WatchAll => topics.watching_all(),
                Step::Leave(_) | Step::LeaveEach | Step::LeaveAll => {}
                Step::Rest => return done,
            }
            done.push(step);
        }
    }

    fn is_empty(topics: &Topics) -> bool {
        topics.topics.is_empty()
            && topics.leases == 0
            && topics.lingering.is_empty()
            && topics.due.is_empty()
            && topics.again.is_empty()
            && topics.put_off.is_empty()
    }

    #[test]
    fn a_lease_that_many_want_is_watched_once_and_each_is_told() {
        let (mut topics, a, b) = two();
        topics.want(a, &lease("n"));
        assert_eq!(topics.next_step(START), Step::Watch(vec![lease("n")]));
        topics.want(b, &lease("n"));
        assert_eq!(topics.next_step(START), Step::Rest);
        topics.looked(&lease("n"), Look::There);
        assert_eq!(read(&mut topics, a), []);
        for _ in 0..2 {
            topics.changed(&lease("n"), Change::Deleted, START, 0);
        }
        assert_eq!((read(&mut topics, a), read(&mut topics, b)), (vec![free("n")], vec![free("n")]));
    }

    #[test]
    fn what_is_free_is_hinted_to_whoever_wants_it_then() {
        let (mut topics, a, b) = two();
        topics.want(a, &lease("n"));
        topics.next_step(START);
        topics.looked(&lease("n"), Look::Missing);
        assert_eq!(read(&mut topics, a), [free("n")]);
        topics.want(b, &lease("n"));
        assert_eq!((read(&mut topics, a), read(&mut topics, b)), (vec![], vec![free("n")]));
        topics.changed(&lease("n"), Change::Created, START, 0);
        topics.unwant(b, &lease("n"), START);
        topics.want(b, &lease("n"));
        assert_eq!(read(&mut topics, b), []);
    }

    #[test]
    fn what_is_freed_while_nobody_wants_it_is_hinted_with_the_next_want() {
        let (mut topics, a, _) = two();
        topics.want(a, &lease("n"));
        settle(&mut topics, START);
        topics.unwant(a, &lease("n"), START);
        topics.changed(&lease("n"), Change::Deleted, START, 0);
        assert_eq!(read(&mut topics, a), []);
        topics.want(a, &lease("n"));
        assert_eq!(read(&mut topics, a), [free("n")]);
        assert_eq!(settle(&mut topics, START + LINGER * 2), [], "it is wanted, and watched already");
    }

    #[test]
    fn what_nobody_wants_is_left_after_a_while_and_leaves_nothing_behind() {
        let (mut topics, a, b) = two();
        topics.want(a, &lease("n"));
        topics.want(b, &group("g"));
        settle(&mut topics, START);
        topics.unwant(a, &lease("n"), START);
        topics.remove_source(b, START);
        assert_eq!(settle(&mut topics, START + LINGER / 2), []);
        let left = Step::Leave(vec![lease("n"), group("g")]);
        assert_eq!(settle(&mut topics, START + LINGER), [left]);
        topics.want(a, &lease("m"));
        topics.unwant(a, &lease("m"), START);
        assert!(is_empty(&topics) && topics.has_sources());
    }

    #[test]
    fn a_group_is_hinted_once_it_is_watched_and_with_each_change() {
        let (mut topics, a, b) = two();
        topics.want(a, &group("g"));
        assert_eq!(read(&mut topics, a), []);
        settle(&mut topics, START);
        let members = || vec![Hint::Members("g".parse().unwrap())];
        assert_eq!(read(&mut topics, a), members());
        for change in [Change::Created, Change::Children, Change::Deleted] {
            topics.changed(&group("g"), change, START, 0);
            assert_eq!(read(&mut topics, a), members());
        }
        topics.want(b, &group("g"));
        assert_eq!((read(&mut topics, a), read(&mut topics, b)), (vec![], members()));
    }

    #[test]
    fn one_gap_follows_when_all_are_watched_again_after_a_loss() {
        let (mut topics, a, b) = two();
        for subject in [lease("m"), lease("n"), lease("left"), group("g")] {
            topics.want(a, &subject);
        }
        settle(&mut topics, START);
        read(&mut topics, a);
        topics.unwant(a, &lease("left"), START);
        assert_eq!(topics.lost(), Progress::Listened);
        topics.want(b, &lease("new"));
        assert!(matches!(topics.next_step(START), Step::Watch(all) if all.len() == 4));
        for subject in [lease("new"), lease("m"), group("g")] {
            topics.looked(&subject, Look::Missing);
        }
        assert_eq!(read(&mut topics, a), []);
        topics.looked(&lease("n"), Look::Missing);
        assert_eq!((read(&mut topics, a), read(&mut topics, b)), (vec![Hint::Gap], vec![Hint::Gap]));
    }

    #[test]
    fn a_gap_follows_also_where_what_was_lost_is_not_wanted_any_more() {
        let (mut topics, a, b) = two();
        topics.want(a, &lease("n"));
        topics.next_step(START);
        assert_eq!(topics.lost(), Progress::None);
        topics.unwant(a, &lease("n"), START);
        assert_eq!(settle(&mut topics, START), []);
        assert_eq!(read(&mut topics, b), [Hint::Gap]);
        assert!(is_empty(&topics));
    }

    /// One source that wants a lease that is watched, where there are so many sessions.
    fn one_of(sessions: u32) -> (Topics, SourceId, Subject) {
        let (mut topics, a, _) = two();
        topics.counted(sessions);
        topics.want(a, &lease("n"));
        settle(&mut topics, START);
        (topics, a, lease("n"))
    }

    #[test]
    fn where_many_may_wait_some_are_told_later() {
        let (mut topics, a, n) = one_of(200);
        topics.changed(&n, Change::Deleted, START, 199);
        assert_eq!((settle(&mut topics, START), read(&mut topics, a)), (vec![], vec![]));
        let at = topics.next_told().unwrap();
        settle(&mut topics, at);
        assert_eq!(read(&mut topics, a), [Hint::Released { name: "n".parse().unwrap(), waiters: Some(12) }]);
        assert_eq!(topics.next_told(), None);
    }

    #[test]
    fn what_was_taken_meanwhile_or_is_not_wanted_any_more_is_not_told() {
        let (mut topics, a, n) = one_of(200);
        topics.changed(&n, Change::Deleted, START, 199);
        topics.changed(&n, Change::Created, START, 0);
        assert_eq!(topics.next_told(), None);
        topics.changed(&n, Change::Deleted, START, 199);
        topics.unwant(a, &n, START);
        settle(&mut topics, START + LINGER);
        assert_eq!(read(&mut topics, a), []);
        assert!(is_empty(&topics));
    }

    #[test]
    fn more_leases_than_many_are_watched_by_one_watch_and_less_than_half_by_their_own() {
        let (mut topics, a, _) = two();
        let all = leases(MANY + 1);
        all.iter().take(MANY).for_each(|lease| topics.want(a, lease));
        assert_eq!(settle(&mut topics, START), [Step::Watch(all[..MANY].to_vec())]);
        topics.want(a, &all[MANY]);
        topics.want(a, &group("g"));
        let last = Step::Look(vec![all[MANY].clone()]);
        let done = settle(&mut topics, START);
        assert_eq!(done, [Step::WatchAll, Step::LeaveEach, Step::Watch(vec![group("g")]), last]);
        all.iter().skip(MANY / 2).for_each(|lease| topics.unwant(a, lease, START));
        assert_eq!(settle(&mut topics, START), []);
        let now = START + LINGER;
        let Step::Leave(left) = topics.next_step(now) else { panic!("they have lingered") };
        assert_eq!(left.len(), MANY / 2 + 1);
        topics.unwant(a, &all[0], now);
        topics.next_step(now + LINGER);
        let few = Step::Watch(all[1..MANY / 2].to_vec());
        assert_eq!(settle(&mut topics, now + LINGER), [few, Step::LeaveAll]);
    }

    #[test]
    fn what_was_not_answered_when_one_watch_took_over_is_looked_at_again() {
        let (mut topics, a, _) = two();
        let all = leases(MANY + 1);
        all.iter().take(MANY).for_each(|lease| topics.want(a, lease));
        topics.next_step(START);
        topics.want(a, &all[MANY]);
        assert_eq!(topics.next_step(START), Step::WatchAll);
        assert_eq!(topics.next_step(START), Step::Rest, "nobody knows yet how to watch it");
        topics.watching_all();
        assert_eq!(topics.next_step(START), Step::LeaveEach);
        assert_eq!(topics.next_step(START), Step::Look(all));
    }

    #[test]
    fn more_than_many_again_keep_the_one_watch() {
        let (mut topics, a, _) = two();
        let all = leases(MANY + 1);
        all.iter().for_each(|lease| topics.want(a, lease));
        settle(&mut topics, START);
        all.iter().skip(9).for_each(|lease| topics.unwant(a, lease, START));
        topics.next_step(START + LINGER);
        assert_eq!(topics.next_step(START + LINGER), Step::Watch(all[..9].to_vec()));
        all.iter().for_each(|lease| topics.want(a, lease));
        assert_eq!(topics.next_step(START + LINGER), Step::LeaveEach);
        assert_eq!(settle(&mut topics, START + LINGER), [Step::Look(all)]);
    }

    #[test]
    fn of_many_names_those_are_just_taken_that_were_seen_to_be() {
        let (mut topics, a, _) = two();
        for text in ["m", "n", "own"] {
            topics.want(a, &lease(text));
        }
        settle(&mut topics, START);
        let names: Vec<LeaseName> = ["m", "n", "other", "own"].map(|text| text.parse().unwrap()).into();
        topics.own_terms([&names[3]].into_iter(), START);
        for text in ["n", "own", "other"] {
            topics.changed(&lease(text), Change::Created, START, 0);
        }
        assert_eq!(topics.just_taken(&names, START), BTreeSet::from([&names[1]]));
    }
}
