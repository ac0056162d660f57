//! Leases one call at a time: L1, L2, L4 to L10.

use std::{collections::BTreeSet, time::Duration};

use simba_backends::{Acquisition, ClockSource, ErrorKind, LeaseName, Release, SessionId, Token};

use tokio::time::timeout;

use crate::{
    Fixture, Skew,
    contender::{Contender, lasting, name, names, outlast},
    power::declare,
};

/// **L1** A free name is granted, with a token greater than zero.
pub async fn l1_a_free_name_is_granted_with_a_token(fixture: &dyn Fixture) {
    let mine = Contender::lasting(fixture).await;
    let witness = Contender::open(fixture).await;
    for free in ["a", "0", "-", "...", "AZaz09._:-", "a.b:c_d-e", &"x".repeat(128)].map(name) {
        assert_eq!(witness.inspect(&free).await, None, "nobody holds {free}");
        let token = mine.granted(&free).await;
        assert!(token.get() > 0);
        let holder = witness.inspect(&free).await.expect("somebody holds it");
        assert_eq!((holder.session, holder.token), (mine.session.clone(), token));
    }
    for (free, answer) in mine.acquire_all(&names("batch", 50)).await {
        assert!(matches!(answer, Acquisition::Granted { .. }), "{free}: {answer:?}");
    }
}

/// **L2** Tokens of a name rise strictly over release, expiry, close, purge, restart of the process and,
/// where declared, of the storage.
pub async fn l2_tokens_rise_over_every_end_of_a_term(fixture: &dyn Fixture) {
    let n = name("n");
    let mut tokens = Vec::new();
    let keeps = Contender::lasting(fixture).await;
    for _ in 0..3 {
        let token = keeps.granted(&n).await;
        tokens.push(("release", token));
        keeps.release(&n, token).await;
    }
    let closes = Contender::lasting(fixture).await;
    tokens.push(("close", closes.granted(&n).await));
    closes.close().await;
    let expires = Contender::open(fixture).await;
    tokens.push(("expiry", expires.granted(&n).await));
    outlast(fixture).await;
    let purged = Contender::open(fixture).await;
    tokens.push(("expiry and purge", purged.granted(&n).await));
    outlast(fixture).await;
    if let Ok(interval) = fixture.purge_interval() {
        fixture.pass(interval).await;
    }
    assert!(purged.is_expired().await);
    drop((purged, expires, closes));
    let restarted = Contender::lasting(fixture).await;
    tokens.push(("restart of the process", restarted.granted(&n).await));
    restarted.close().await;

    if keeps.backend.capabilities().durable_tokens {
        let restart = fixture.restart().await;
        restart.expect("a fixture can restart a storage whose tokens are declared durable");
        let after = Contender::lasting(fixture).await;
        tokens.push(("restart of the storage", after.granted(&n).await));
    } else {
        declare("durable tokens: tokens may start anew when the storage restarts");
    }
    for pair in tokens.windows(2) {
        assert!(pair[0].1 < pair[1].1, "after {} the token did not rise: {tokens:?}", pair[0].0);
    }
}

/// **L4** A held name says so, with `free_in` at most the holder's lease where it is known.
pub async fn l4_a_held_name_says_so_and_for_how_long(fixture: &dyn Fixture) {
    let other = Contender::lasting(fixture).await;
    for factor in [1, 3, 8] {
        let lease = fixture.lease() * factor;
        let holder = Contender::on(fixture.connect().await, lease).await;
        let n = name(format!("n{factor}"));
        holder.granted(&n).await;
        let told = other.refused(&n).await;
        let inspected = other.inspect(&n).await.expect("somebody holds it").free_in;
        fixture.pass(fixture.lease() / 4).await;
        let later = other.refused(&n).await;
        for free_in in [told, inspected, later].into_iter().flatten() {
            assert!(free_in <= lease, "free in {free_in:?} of a lease of {lease:?}");
            assert!(free_in > lease / 4, "free in {free_in:?} of a lease of {lease:?} just renewed");
        }
        if let (Some(told), Some(later)) = (told, later) {
            assert!(later < told, "a quarter of a lease has passed, yet {later:?} is left of {told:?}");
        }
        holder.alive().await;
        if let (Some(later), Some(renewed)) = (later, other.refused(&n).await) {
            assert!(renewed > later && renewed <= lease, "a keep-alive restores {lease:?}, not {renewed:?}");
        }
    }
}

/// **L5** The holder's own repeated acquire answers `AlreadyOwned` with the same token.
pub async fn l5_the_holders_repeat_is_already_owned_with_the_same_token(fixture: &dyn Fixture) {
    let mine = Contender::lasting(fixture).await;
    let elsewhere = mine.elsewhere(fixture).await;
    let n = name("n");
    let first = mine.granted(&n).await;
    for repeat in [&mine, &mine, &elsewhere] {
        assert_eq!(already_owned(repeat.acquire(&n).await, lasting(fixture)), first);
        assert_eq!(mine.owned().await[&n], first);
    }
    mine.release(&n, first).await;
    let again = mine.granted(&n).await;
    assert_eq!(already_owned(elsewhere.acquire(&n).await, lasting(fixture)), again);

    let repeats = vec![mine.clone(); 16];
    let answers = Contender::race(&repeats, |mine| async move { mine.acquire(&name("raced")).await }).await;
    let token = mine.owned().await[&name("raced")];
    let (granted, repeated): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| matches!(answer, Acquisition::Granted { .. }));
    assert_eq!(granted.len(), 1, "one of the racing calls started the term");
    for answer in repeated {
        assert_eq!(already_owned(answer, lasting(fixture)), token);
    }
}

fn already_owned(answer: Acquisition, lease: Duration) -> Token {
    let Acquisition::AlreadyOwned { token, remaining } = answer else {
        panic!("the session held it already: {answer:?}");
    };
    assert!(remaining <= lease, "{remaining:?} of a lease of {lease:?}");
    token
}

/// **L6** A release frees and is idempotent; a stale token, or another session's release, changes nothing.
pub async fn l6_a_release_frees_and_nothing_else_does(fixture: &dyn Fixture) {
    let (mine, other) = (Contender::lasting(fixture).await, Contender::lasting(fixture).await);
    let n = name("n");
    let first = mine.granted(&n).await;
    mine.release(&n, first).await;
    mine.release(&n, first).await;
    assert_eq!(other.inspect(&n).await, None);
    mine.release(&name("never-held"), first).await;

    let second = mine.granted(&n).await;
    for wrong in [first.get(), second.get() + 1, second.get() + 1000] {
        mine.release(&n, Token::new(wrong).expect("small numbers are tokens")).await;
    }
    other.release(&n, second).await;
    Contender { session: SessionId::random(), ..other.clone() }.release(&n, second).await;
    other.refused(&n).await;
    assert_eq!(mine.owned().await[&n], second, "nobody released the second term");

    mine.release(&n, second).await;
    let theirs = other.granted(&n).await;
    mine.release(&n, second).await;
    mine.release(&n, theirs).await;
    assert_eq!(other.owned().await[&n], theirs, "a release that came late freed the next holder's term");
    a_batch_releases_what_is_held_and_nothing_else(&mine, &other).await;
}

async fn a_batch_releases_what_is_held_and_nothing_else(mine: &Contender, other: &Contender) {
    let (a, b, c) = (name("a"), name("b"), name("c"));
    let (token_a, token_b) = (mine.granted(&a).await, mine.granted(&b).await);
    let token_c = other.granted(&c).await;
    let stale = Token::new(token_b.get() + 1).expect("small numbers are tokens");
    let leases = [(c.clone(), token_c), (b.clone(), stale), (a.clone(), token_a)];
    let answers = mine.backend.release(&mine.session, &leases).await.expect("a release is answered");
    let told: BTreeSet<_> = answers.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(told, [a.clone(), b.clone(), c.clone()].into(), "one answer for each name");
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Release::Gone)), "{answers:?}");
    assert_eq!(mine.owned().await.into_keys().collect::<Vec<_>>(), [b]);
    assert_eq!(other.owned().await[&c], token_c);
    other.granted(&a).await;
}

/// **L7** The leases of an expired session can be taken.
pub async fn l7_leases_of_an_expired_session_can_be_taken(fixture: &dyn Fixture) {
    let (dies, takes) = (Contender::open(fixture).await, Contender::lasting(fixture).await);
    let all = names("n", 20);
    let before = dies.acquire_all(&all).await;
    outlast(fixture).await;
    assert_eq!(takes.inspect(&all[0]).await, None, "an expired session holds nothing");
    let after = takes.acquire_all(&all).await;
    for (name, answer) in &before {
        match (answer, &after[name]) {
            (Acquisition::Granted { token: old, .. }, Acquisition::Granted { token: new, .. }) => {
                assert!(new > old, "{name}: {old} then {new}");
                dies.release(name, *old).await;
                dies.release(name, *new).await;
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    assert!(dies.is_expired().await);
    dies.close().await;
    assert_eq!(takes.owned().await.len(), all.len(), "the dead took something back");
}

/// Names that a careless storage mixes up.
fn near_twins() -> Vec<LeaseName> {
    let long = |last: char| format!("{}{last}", "x".repeat(127));
    let mut twins: Vec<_> =
        ["Job", "job", "JOB", "jOb", "job.", "job:", "job-", "job_", ".job", "-job", "1", "01"]
            .into_iter()
            .chain(["1.0", "1e0", "a.b", "a:b", "a_b", "a-b", "ab", "A.B", "...", "null", "NULL", "true"])
            .map(name)
            .collect();
    twins.extend(['x', 'X', 'y', '.', ':'].map(long).map(name));
    twins.extend([name("x".repeat(127)), name("x".repeat(126))]);
    twins
}

/// **L8** Names are distinct to the last character and its case.
pub async fn l8_names_are_distinct_to_the_last_character(fixture: &dyn Fixture) {
    let (mine, other) = (Contender::lasting(fixture).await, Contender::lasting(fixture).await);
    let twins = near_twins();
    let mut held = Vec::new();
    for (number, twin) in twins.iter().enumerate() {
        let holder = if number.is_multiple_of(2) { &mine } else { &other };
        held.push((holder, twin, holder.granted(twin).await));
    }
    assert_eq!(mine.owned().await.len() + other.owned().await.len(), twins.len());
    while let Some((holder, twin, token)) = held.pop() {
        holder.release(twin, token).await;
        for (holder, twin, token) in &held {
            let told = other.inspect(twin).await.expect("its twin was released, not it");
            assert_eq!((&told.session, told.token), (&holder.session, *token), "{twin}");
        }
    }
    for twin in &twins {
        let group = twin.as_str().parse().expect("a name is a name");
        assert!(mine.view(&group).await.is_empty(), "{group} is confused with a twin");
        mine.join(&group).await;
    }
    let joined: BTreeSet<_> = mine.alive().await.groups.into_iter().map(|group| group.to_string()).collect();
    assert_eq!(joined, twins.iter().map(ToString::to_string).collect());
}

/// **L9** A batch answers for each name; one locked or corrupt name harms no other.
pub async fn l9_a_batch_answers_for_each_name(fixture: &dyn Fixture) {
    let (mine, other) = (Contender::lasting(fixture).await, Contender::lasting(fixture).await);
    let all = names("n", 1500);
    let own = mine.granted(&all[7]).await;
    other.granted(&all[1400]).await;
    let answers = mine.acquire_all(&all).await;
    for (asked, answer) in &answers {
        match answer {
            Acquisition::AlreadyOwned { token, .. } => assert_eq!((asked, *token), (&all[7], own)),
            Acquisition::Held { .. } => assert_eq!(asked, &all[1400]),
            Acquisition::Granted { .. } => assert!(*asked != all[7] && *asked != all[1400], "{asked}"),
            Acquisition::Failed(error) => panic!("{asked}: {error:?}"),
        }
    }
    assert_eq!(mine.owned().await.len(), 1499);
    assert!(mine.acquire_all(&[]).await.is_empty(), "nothing is asked for, nothing is answered");
    one_locked_name_harms_no_other(fixture).await;
    one_corrupt_name_harms_no_other(fixture).await;
}

async fn one_locked_name_harms_no_other(fixture: &dyn Fixture) {
    let mine = Contender::lasting(fixture).await;
    let all = names("locked", 9);
    let token = mine.granted(&all[4]).await;
    mine.release(&all[4], token).await;
    let hold = match fixture.hold_lease(&all[4]).await {
        Ok(hold) => hold,
        Err(lack) => return lack.declare(),
    };
    let acquire = timeout(fixture.patience(), mine.acquire_all(&all)).await;
    let mut answers = acquire.expect("nobody waits for a locked name");
    mine.alive().await;
    let locked = answers.remove(&all[4]).expect("a batch answers for each name");
    hold.end().await;
    assert!(matches!(locked, Acquisition::Held { .. } | Acquisition::Failed(_)), "{locked:?}");
    let granted = answers.values().all(|answer| matches!(answer, Acquisition::Granted { .. }));
    assert!(granted, "one locked name harms the others: {answers:?}");
}

async fn one_corrupt_name_harms_no_other(fixture: &dyn Fixture) {
    let mine = Contender::lasting(fixture).await;
    let all = names("corrupt", 9);
    let token = mine.granted(&all[4]).await;
    mine.release(&all[4], token).await;
    if let Err(lack) = fixture.corrupt(&all[4]).await {
        return lack.declare();
    }
    let mut answers = mine.acquire_all(&all).await;
    match answers.remove(&all[4]) {
        Some(Acquisition::Failed(error)) => {
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains(all[4].as_str()), "which name is corrupt? {error}");
        }
        other => panic!("a corrupt name is reported: {other:?}"),
    }
    let granted = answers.values().all(|answer| matches!(answer, Acquisition::Granted { .. }));
    assert!(granted, "one corrupt name harms the others: {answers:?}");
    assert_eq!(mine.owned().await.len(), 8);
}

/// **L10** No client's wall clock matters, unless the capabilities say so.
pub async fn l10_no_clients_wall_clock_matters(fixture: &dyn Fixture) {
    let right = Contender::lasting(fixture).await;
    match right.backend.capabilities().clock {
        ClockSource::Storage => {}
        ClockSource::HostWallClock => return declare("a clock of the storage's own: the host's is used"),
    }
    let hour = Duration::from_secs(3600);
    for (number, skew) in [Skew::Ahead(hour), Skew::Behind(hour)].into_iter().enumerate() {
        let backend = match fixture.connect_skewed(skew).await {
            Ok(backend) => backend,
            Err(lack) => return lack.declare(),
        };
        let wrong = Contender::on(backend, fixture.lease()).await;
        let (theirs, ours) = (name(format!("theirs-{number}")), name(format!("ours-{number}")));
        wrong.granted(&theirs).await;
        right.granted(&ours).await;
        let free_in = right.refused(&theirs).await;
        assert!(free_in.is_none_or(|free_in| free_in <= fixture.lease()), "{skew:?}: {free_in:?}");
        wrong.refused(&ours).await;
        assert!(wrong.alive().await.remaining <= fixture.lease());
        outlast(fixture).await;
        right.granted(&theirs).await;
        assert!(wrong.is_expired().await, "{skew:?}");
    }
}
