//! Who wants to hear of which lease, and what is to be done at the server for it. No clock, no connection.
//!
//! ```text
//!  want            subscribed        last unwant             LINGER later
//!   │ ── Due, Asked ──► │ ── Live ──────► │ ── Live, lingering ──► │ unsubscribe
//!                       └ look                    │ want
//!                                                 └ look
//! ```
//!
//! # Why every want is looked at
//! A lease may be freed between the attempt that was refused and the want that follows it. Either there is no
//! subscription yet, or the message comes while this source does not want the name: it is lost on it, also
//! where others want the name or the subscription lingers. So whatever is wanted is looked at once, as soon as
//! a subscription is certain: what was freed before is then seen, what is freed later is heard. Counting
//! messages instead would not be cheaper: in between there always is the message of the source's own release.

use std::{
    collections::{BTreeMap, BTreeSet},
    task::Context,
    time::Duration,
};

use crate::{
    Hint, LeaseName,
    mailbox::{Mailboxes, News, SourceId, Woken},
};

/// How long a subscription outlasts its last want: a contended lease is held for moments and wanted again.
const LINGER: Duration = Duration::from_secs(1);

/// How long a connection without a subscription is kept.
const IDLE: Duration = Duration::from_secs(5);

/// How many names go into one command.
const BATCH: usize = 1000;

#[derive(Default)]
pub(super) struct Topics {
    sources: Mailboxes<LeaseName>,
    topics: BTreeMap<LeaseName, Topic>,
    /// Due to be subscribed to, and then to be looked at.
    fresh: BTreeSet<LeaseName>,
    /// Due to be subscribed to on the next connection; then one gap tells of them all.
    again: BTreeSet<LeaseName>,
    continuity: Continuity,
    to_look: BTreeSet<LeaseName>,
    to_count: BTreeSet<LeaseName>,
    /// Wanted by nobody, by when each is to be unsubscribed from.
    lingering: BTreeSet<(Duration, LeaseName)>,
    /// Since when there is nothing to listen to, where somebody noticed.
    idle_since: Option<Duration>,
}

#[derive(Default)]
struct Topic {
    wanted_by: BTreeSet<SourceId>,
    stage: Stage,
    /// When it is to be unsubscribed from; none while somebody wants it.
    leaves_at: Option<Duration>,
    /// How many connections of any process were subscribed when they were last counted.
    subscribers: Option<u32>,
}

/// How far the subscription is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Nothing was asked for on this connection.
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

/// What a want makes necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    Subscribe,
    Look,
    Nothing,
}

/// What the connection does next, one after the other.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Subscribe(Vec<LeaseName>, Then),
    Unsubscribe(Vec<LeaseName>),
    Rest,
    Close,
}

/// What follows once the server has confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Look,
    /// Nothing for each name: a gap is told at the end.
    Gap,
}

/// Sources, and their wishes.
impl Topics {
    pub(super) fn add_source(&mut self) -> SourceId {
        self.sources.open()
    }

    pub(super) fn remove_source(&mut self, id: SourceId, now: Duration) {
        let wanted = self.topics.iter().filter(|(_, topic)| topic.wanted_by.contains(&id));
        let wanted: Vec<_> = wanted.map(|(name, _)| name.clone()).collect();
        for name in wanted {
            self.unwant(id, &name, now);
        }
        self.sources.close(id);
    }

    pub(super) fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    pub(super) fn want(&mut self, id: SourceId, name: &LeaseName) -> Errand {
        let topic = self.topics.entry(name.clone()).or_default();
        topic.wanted_by.insert(id);
        if let Some(at) = topic.leaves_at.take() {
            self.lingering.remove(&(at, name.clone()));
        }
        match topic.stage {
            Stage::Due if self.again.contains(name) => Errand::Nothing,
            Stage::Due => {
                self.fresh.insert(name.clone());
                Errand::Subscribe
            }
            Stage::Asked => Errand::Nothing,
            Stage::Live => {
                self.to_look.insert(name.clone());
                Errand::Look
            }
        }
    }

    pub(super) fn unwant(&mut self, id: SourceId, name: &LeaseName, now: Duration) {
        let Some(topic) = self.topics.get_mut(name) else { return };
        if !topic.wanted_by.remove(&id) {
            return;
        }
        self.sources.forget(id, name);
        if !topic.wanted_by.is_empty() {
            return;
        }
        self.to_look.remove(name);
        match topic.stage {
            Stage::Due => {
                self.fresh.remove(name);
                self.again.remove(name);
                self.topics.remove(name);
            }
            Stage::Asked | Stage::Live => {
                topic.leaves_at = Some(now + LINGER);
                self.lingering.insert((now + LINGER, name.clone()));
            }
        }
    }

    pub(super) fn next_hint(&mut self, id: SourceId, cx: &Context<'_>) -> Option<Hint> {
        Some(match self.sources.take(id, cx)? {
            News::Gap => Hint::Gap,
            News::About(name) => {
                let waiters = self.topics.get(&name).and_then(Topic::waiters);
                Hint::Released { name, waiters }
            }
        })
    }
}

/// What the connection does and hears.
impl Topics {
    /// Whether there is anything to be connected for.
    pub(super) fn is_wanting(&self) -> bool {
        !self.topics.is_empty()
    }

    /// Asked for again only when the step before has been done.
    pub(super) fn next_step(&mut self, now: Duration) -> Step {
        let again = take(&mut self.again);
        if !again.is_empty() {
            return self.subscribe(again, Then::Gap);
        }
        if std::mem::take(&mut self.continuity) == Continuity::Interrupted {
            self.tell_all();
        }
        let fresh = take(&mut self.fresh);
        if !fresh.is_empty() {
            return self.subscribe(fresh, Then::Look);
        }
        let left = self.leave(now);
        if left.is_empty() { self.rest(now) } else { Step::Unsubscribe(left) }
    }

    fn subscribe(&mut self, names: Vec<LeaseName>, then: Then) -> Step {
        self.set_stage(&names, Stage::Asked);
        Step::Subscribe(names, then)
    }

    fn rest(&mut self, now: Duration) -> Step {
        if self.is_wanting() {
            self.idle_since = None;
            return Step::Rest;
        }
        let since = *self.idle_since.get_or_insert(now);
        if now.saturating_sub(since) < IDLE {
            return Step::Rest;
        }
        self.idle_since = None;
        Step::Close
    }

    /// The server has confirmed these.
    pub(super) fn subscribed(&mut self, names: &[LeaseName], then: Then) {
        self.set_stage(names, Stage::Live);
        for name in names {
            self.to_count.insert(name.clone());
            let is_wanted = self.topics.get(name).is_some_and(|topic| !topic.wanted_by.is_empty());
            if then == Then::Look && is_wanted {
                self.to_look.insert(name.clone());
            }
        }
    }

    /// Somebody says that it is free, or was a moment ago.
    pub(super) fn released(&mut self, name: &LeaseName) {
        let Some(topic) = self.topics.get(name) else { return };
        topic.wanted_by.iter().for_each(|id| self.sources.put(*id, name));
    }

    /// As [`released`](Self::released), by a message: some who waited may not do so any longer.
    pub(super) fn heard(&mut self, name: &LeaseName) {
        self.released(name);
        if self.topics.contains_key(name) {
            self.to_count.insert(name.clone());
        }
    }

    pub(super) fn take_looks(&mut self) -> Vec<LeaseName> {
        std::mem::take(&mut self.to_look).into_iter().collect()
    }

    pub(super) fn take_counts(&mut self) -> Vec<LeaseName> {
        take(&mut self.to_count)
    }

    pub(super) fn counted(&mut self, name: &LeaseName, subscribers: u32) {
        if let Some(topic) = self.topics.get_mut(name) {
            topic.subscribers = Some(subscribers);
        }
    }

    /// The connection is none any more, and with it all subscriptions. How far any of them had come.
    pub(super) fn lost(&mut self) -> Stage {
        self.to_look.clear();
        self.to_count.clear();
        self.lingering.clear();
        self.idle_since = None;
        let furthest = self.topics.values().map(|topic| topic.stage).max().unwrap_or_default();
        self.topics.retain(|_, topic| !topic.wanted_by.is_empty());
        for (name, topic) in &mut self.topics {
            topic.subscribers = None;
            if std::mem::take(&mut topic.stage) != Stage::Due {
                self.again.insert(name.clone());
                self.continuity = Continuity::Interrupted;
            }
        }
        furthest
    }

    /// Tells every source that something may have been missed.
    pub(super) fn tell_all(&mut self) {
        self.sources.put_gap();
    }

    pub(super) fn take_woken(&mut self) -> Woken {
        self.sources.take_woken()
    }

    fn set_stage(&mut self, names: &[LeaseName], stage: Stage) {
        for name in names {
            if let Some(topic) = self.topics.get_mut(name) {
                topic.stage = stage;
            }
        }
    }

    /// Forgets what has lingered for long enough.
    fn leave(&mut self, now: Duration) -> Vec<LeaseName> {
        let mut left = Vec::new();
        while left.len() < BATCH && self.lingering.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, name)) = self.lingering.pop_first() else { break };
            self.topics.remove(&name);
            self.to_count.remove(&name);
            left.push(name);
        }
        left
    }
}

impl Topic {
    /// How many wait, as far as is known. Who freed the lease a moment ago mostly waited for it before, and
    /// lingers: of the other subscribers one is taken for it. That many are never none: somebody is asking.
    fn waiters(&self) -> Option<u32> {
        let here = u32::try_from(self.wanted_by.len()).unwrap_or(u32::MAX);
        let elsewhere = self.subscribers?.saturating_sub(2);
        Some(here.saturating_add(elsewhere))
    }
}

/// As many of them as go into one command.
fn take(due: &mut BTreeSet<LeaseName>) -> Vec<LeaseName> {
    let batch = due.len().min(BATCH);
    (0..batch).map_while(|_| due.pop_first()).collect()
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    const START: Duration = Duration::from_secs(100);

    fn name(text: &str) -> LeaseName {
        text.parse().unwrap()
    }

    /// Two sources, of which nobody knows anything at the server.
    fn two() -> (Topics, SourceId, SourceId) {
        let mut topics = Topics::default();
        let (a, b) = (topics.add_source(), topics.add_source());
        (topics, a, b)
    }

    /// What a source reads.
    fn read(topics: &mut Topics, id: SourceId) -> Vec<Hint> {
        let cx = Context::from_waker(Waker::noop());
        std::iter::from_fn(|| topics.next_hint(id, &cx)).collect()
    }

    fn free(text: &str, waiters: Option<u32>) -> Hint {
        Hint::Released { name: name(text), waiters }
    }

    /// Does what is due until nothing is. What was done.
    fn settle(topics: &mut Topics, now: Duration) -> Vec<Step> {
        let mut done = Vec::new();
        loop {
            let step = topics.next_step(now);
            match &step {
                Step::Subscribe(names, then) => topics.subscribed(names, *then),
                Step::Unsubscribe(_) => {}
                Step::Rest | Step::Close => return done,
            }
            done.push(step);
        }
    }

    fn subscribe(text: &str) -> Step {
        Step::Subscribe(vec![name(text)], Then::Look)
    }

    fn is_empty(topics: &Topics) -> bool {
        let sets = [&topics.fresh, &topics.again, &topics.to_look, &topics.to_count];
        topics.topics.is_empty() && topics.lingering.is_empty() && sets.iter().all(|set| set.is_empty())
    }

    #[test]
    fn a_name_that_many_want_is_subscribed_to_once_and_looked_at_afterwards() {
        let (mut topics, a, b) = two();
        assert_eq!(topics.want(a, &name("n")), Errand::Subscribe);
        assert_eq!(topics.next_step(START), subscribe("n"));
        assert_eq!(topics.want(b, &name("n")), Errand::Nothing, "it has been asked for");
        assert_eq!(topics.take_looks(), []);
        topics.subscribed(&[name("n")], Then::Look);
        assert_eq!(topics.take_looks(), [name("n")]);
        topics.released(&name("n"));
        assert_eq!(read(&mut topics, a), [free("n", None)]);
        assert_eq!(read(&mut topics, b), [free("n", None)]);
    }

    #[test]
    fn a_name_that_is_wanted_again_while_it_lingers_is_looked_at() {
        let (mut topics, a, _) = two();
        topics.want(a, &name("n"));
        settle(&mut topics, START);
        topics.take_looks();
        topics.unwant(a, &name("n"), START);
        topics.heard(&name("n"));
        assert_eq!(read(&mut topics, a), []);
        assert_eq!(topics.want(a, &name("n")), Errand::Look);
        assert_eq!(topics.take_looks(), [name("n")]);
        assert_eq!(settle(&mut topics, START + LINGER * 2), [], "it is wanted");
    }

    #[test]
    fn what_nobody_wants_any_more_is_left_after_a_while_and_leaves_nothing_behind() {
        let (mut topics, a, b) = two();
        topics.want(a, &name("n"));
        topics.want(b, &name("n"));
        settle(&mut topics, START);
        topics.heard(&name("n"));
        topics.unwant(a, &name("n"), START);
        topics.remove_source(b, START);
        assert_eq!(topics.next_step(START + LINGER / 2), Step::Rest);
        assert_eq!(settle(&mut topics, START + LINGER), [Step::Unsubscribe(vec![name("n")])]);
        assert!(is_empty(&topics));
        assert_eq!(topics.next_step(START + LINGER + IDLE), Step::Close);
        assert!(topics.has_sources());
    }

    #[test]
    fn a_name_that_is_wanted_while_it_is_being_left_is_subscribed_to_next() {
        let (mut topics, a, _) = two();
        topics.want(a, &name("n"));
        settle(&mut topics, START);
        topics.unwant(a, &name("n"), START);
        assert_eq!(topics.next_step(START + LINGER), Step::Unsubscribe(vec![name("n")]));
        assert_eq!(topics.want(a, &name("n")), Errand::Subscribe);
        assert_eq!(topics.next_step(START + LINGER), subscribe("n"));
    }

    #[test]
    fn a_name_that_was_given_up_before_it_was_asked_for_is_forgotten() {
        let (mut topics, a, _) = two();
        topics.want(a, &name("n"));
        topics.unwant(a, &name("n"), START);
        assert!(is_empty(&topics));
        assert_eq!(settle(&mut topics, START), []);
    }

    #[test]
    fn ten_thousand_names_are_ten_commands_each_way() {
        let (mut topics, a, _) = two();
        let names: Vec<_> = (0..10_000).map(|i| name(&format!("n-{i}"))).collect();
        names.iter().for_each(|name| assert_eq!(topics.want(a, name), Errand::Subscribe));
        assert_eq!(settle(&mut topics, START).len(), 10);
        names.iter().for_each(|name| topics.unwant(a, name, START));
        assert_eq!(settle(&mut topics, START + LINGER).len(), 10);
        assert!(is_empty(&topics));
    }

    #[test]
    fn one_gap_follows_when_all_are_subscribed_to_again_after_a_loss() {
        let (mut topics, a, b) = two();
        topics.want(a, &name("n"));
        topics.want(a, &name("left"));
        settle(&mut topics, START);
        topics.unwant(a, &name("left"), START);
        assert_eq!(topics.lost(), Stage::Live);
        assert_eq!(topics.want(b, &name("n")), Errand::Nothing);
        assert_eq!(topics.want(b, &name("new")), Errand::Subscribe);
        assert_eq!(topics.next_step(START), Step::Subscribe(vec![name("n")], Then::Gap));
        assert_eq!(read(&mut topics, a), []);
        topics.subscribed(&[name("n")], Then::Gap);
        assert_eq!(settle(&mut topics, START), [subscribe("new")]);
        assert_eq!(topics.take_looks(), [name("new")]);
        assert_eq!(read(&mut topics, a), [Hint::Gap]);
        assert_eq!(read(&mut topics, b), [Hint::Gap]);
    }

    #[test]
    fn a_gap_follows_also_where_what_was_lost_is_not_wanted_any_more() {
        let (mut topics, a, b) = two();
        topics.want(a, &name("n"));
        topics.next_step(START);
        assert_eq!(topics.lost(), Stage::Asked);
        topics.unwant(a, &name("n"), START);
        assert_eq!(settle(&mut topics, START), []);
        assert_eq!(read(&mut topics, b), [Hint::Gap]);
        assert!(is_empty(&topics));
    }

    #[test]
    fn a_release_that_was_not_read_yet_is_told_once_and_not_after_the_name_was_given_up() {
        let (mut topics, a, _) = two();
        for text in ["m", "n"] {
            topics.want(a, &name(text));
        }
        for text in ["n", "m", "n"] {
            topics.released(&name(text));
        }
        topics.unwant(a, &name("m"), START);
        assert_eq!(read(&mut topics, a), [free("n", None)]);
        topics.released(&name("n"));
        assert_eq!(read(&mut topics, a), [free("n", None)]);
    }

    #[test]
    fn a_source_that_does_not_read_gets_a_gap_and_the_others_get_everything() {
        let (mut topics, reads, stuck) = two();
        let names: Vec<_> = (0..1025).map(|i| name(&format!("n-{i}"))).collect();
        for name in &names {
            topics.want(stuck, name);
            topics.want(reads, name);
            topics.released(name);
            assert_eq!(read(&mut topics, reads).len(), 1);
        }
        assert_eq!(read(&mut topics, stuck), [Hint::Gap]);
        topics.released(&names[0]);
        assert_eq!(read(&mut topics, stuck).len(), 1);
    }

    #[test]
    fn waiters_are_those_here_and_elsewhere_without_who_has_just_held_it() {
        let (mut topics, a, b) = two();
        topics.want(a, &name("n"));
        let waiters = |topics: &mut Topics, subscribers| {
            topics.counted(&name("n"), subscribers);
            topics.released(&name("n"));
            read(topics, a)
        };
        assert_eq!(waiters(&mut topics, 1), [free("n", Some(1))]);
        assert_eq!(waiters(&mut topics, 2), [free("n", Some(1))]);
        assert_eq!(waiters(&mut topics, 5), [free("n", Some(4))]);
        topics.want(b, &name("n"));
        assert_eq!(waiters(&mut topics, 5), [free("n", Some(5))]);
    }
}
