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
