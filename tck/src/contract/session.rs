//! Sessions: S1 to S8.

use std::{collections::BTreeSet, time::Duration};

use simba_backends::{Acquired, Joined, KeepAlive, LeaseBackend, LeaseName, Metadata, Renewal, SessionId};

use crate::{
    Fixture, Outage,
    contender::{Contender, group, lasting, name, names, outlast},
};

/// **S1** Opening gives an id that was never used before, and `0 < remaining <= lease`.
pub async fn s1_opening_gives_a_fresh_id_and_at_most_the_lease(fixture: &dyn Fixture) {
    let mut seen = BTreeSet::new();
    for _ in 0..4 {
        let backend = fixture.connect().await;
        for lease in [fixture.lease(), fixture.lease() * 3, lasting(fixture)] {
            let calls: Vec<_> = (0..8).map(|_| tokio::spawn(open(backend.clone(), lease))).collect();
            for call in calls {
                let session = call.await.expect("an opening does not panic");
                assert!(seen.insert(session.clone()), "{session} was used before");
                if seen.len().is_multiple_of(2) {
                    backend.close_session(&session).await.expect("a session closes");
                }
            }
        }
    }
}

async fn open(backend: std::sync::Arc<dyn LeaseBackend>, lease: Duration) -> SessionId {
    let opened = backend.open_session(lease, &Metadata::default()).await.expect("a session opens");
    assert!(opened.remaining > Duration::ZERO && opened.remaining <= lease, "{opened:?} of {lease:?}");
    opened.session
}

/// **S2** A keep-alive restores the lease, in full unless the capabilities say otherwise, and lists exactly what
/// the session holds, with tokens, and the groups it has joined.
pub async fn s2_a_keep_alive_restores_the_lease_and_lists_what_is_held(fixture: &dyn Fixture) {
    let (mine, other) = (Contender::lasting(fixture).await, Contender::lasting(fixture).await);
    assert!(mine.alive().await.owned.is_empty(), "a fresh session holds nothing");
    let (a, b) = (name("a"), name("b"));
    let (token_a, token_b) = (mine.granted(&a).await, mine.granted(&b).await);
    other.granted(&name("c")).await;
    mine.refused(&name("c")).await;
    for (session, joined) in [(&mine, "g1"), (&mine, "g2"), (&other, "g3")] {
        assert_eq!(session.join(&group(joined)).await, Joined::Member);
    }

    let alive = mine.alive().await;
    assert_eq!(sorted(alive.owned), [(a.clone(), token_a), (b.clone(), token_b)]);
    assert_eq!(sorted(alive.groups), [group("g1"), group("g2")]);
    assert_eq!(alive.unknown, [], "all parts of the storage answered");

    mine.release(&a, token_a).await;
    mine.leave(&group("g2")).await;
    let alive = mine.alive().await;
    assert_eq!(sorted(alive.owned), [(b, token_b)]);
    assert_eq!(alive.groups, [group("g1")]);
    assert!(mine.granted(&a).await > token_a);
    assert_eq!(mine.owned().await.len(), 2, "what was taken again is listed again");
    a_session_kept_alive_lives_on(fixture).await;
}

async fn a_session_kept_alive_lives_on(fixture: &dyn Fixture) {
    let (mine, witness) = (Contender::open(fixture).await, Contender::open(fixture).await);
    let n = name("kept");
    let token = mine.granted(&n).await;
    let restored = match mine.backend.capabilities().renewal {
        Renewal::This => mine.lease * 3 / 4,
        Renewal::Earlier => mine.lease / 2,
    };
    for _ in 0..10 {
        let step = fixture.lease() / 4;
        fixture.pass(step).await;
        let alive = mine.alive().await;
        assert!(alive.remaining <= mine.lease, "{:?} is more than the lease", alive.remaining);
        assert!(alive.remaining > restored, "{:?} of {:?}: it was not restored", alive.remaining, mine.lease);
        if let Some(elapsed) = alive.server_elapsed {
            assert!(elapsed > step * 3 / 4 && elapsed < mine.lease, "{elapsed:?} passed since the last one");
        }
    }
    let holder = witness.inspect(&n).await.expect("what is kept alive is held");
    assert_eq!((&holder.session, holder.token), (&mine.session, token));
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

/// **S3** A session that was not kept alive for its lease is expired for keep-alive (which removes it),
/// acquire and join, and is never revived.
pub async fn s3_a_session_not_kept_alive_is_expired_and_never_revived(fixture: &dyn Fixture) {
    let witness = Contender::lasting(fixture).await;
    let (asks, tries, races) =
        (Contender::open(fixture).await, Contender::open(fixture).await, Contender::open(fixture).await);
    let held = asks.granted(&name("held")).await;
    assert_eq!(tries.join(&group("g")).await, Joined::Member);
    outlast(fixture).await;

    assert!(matches!(tries.backend.acquire(&tries.session, &names("n", 3)).await, Ok(Acquired::Expired)));
    assert_eq!(tries.join(&group("g")).await, Joined::Expired);
    assert!(tries.keep_alive_for(lasting(fixture)).await.is_none(), "a long keep-alive revives nothing");
    for _ in 0..2 {
        assert!(asks.is_expired().await);
        assert!(matches!(asks.backend.acquire(&asks.session, &[name("n")]).await, Ok(Acquired::Expired)));
        assert_eq!(asks.join(&group("g")).await, Joined::Expired);
    }
    let answers =
        Contender::race(&vec![races; 16], |session| async move { session.is_expired().await }).await;
    assert!(answers.into_iter().all(|expired| expired), "of racing keep-alives one revived the session");

    assert_eq!(witness.view(&group("g")).await, []);
    assert_eq!(witness.inspect(&name("n")).await, None, "an expired session took a lease");
    assert!(witness.granted(&name("held")).await > held);
    a_keep_alive_that_waited_longer_than_the_lease_revives_nothing(fixture).await;
}

async fn a_keep_alive_that_waited_longer_than_the_lease_revives_nothing(fixture: &dyn Fixture) {
    let late = Contender::open(fixture).await;
    let hold = match fixture.hold_session(&late.session).await {
        Ok(hold) => hold,
        Err(lack) => return lack.declare(),
    };
    // For long: counted from before the wait, a short one would have run out by itself.
    let call = tokio::spawn({
        let (late, long) = (late.clone(), lasting(fixture));
        async move { late.backend.keep_alive(&late.session, long).await }
    });
    fixture.pass(fixture.lease() * 3 / 2).await;
    hold.end().await;
    let answer = call.await.expect("a keep-alive does not panic");
    assert!(!matches!(answer, Ok(KeepAlive::Live { .. })), "it executed after the expiry: {answer:?}");
    assert!(late.is_expired().await);
}

/// **S4** Closing frees leases and memberships at once, is idempotent, and finishes an earlier close that
/// failed half-way.
pub async fn s4_closing_frees_everything_at_once_and_finishes_an_earlier_close(fixture: &dyn Fixture) {
    let (mine, other) = (Contender::lasting(fixture).await, Contender::lasting(fixture).await);
    let taken = names("n", 5);
    mine.acquire_all(&taken).await;
    for session in [&mine, &other] {
        assert_eq!(session.join(&group("g")).await, Joined::Member);
    }
    mine.close().await;
    assert_eq!(other.view(&group("g")).await, std::slice::from_ref(&other.session));
    for name in &taken {
        assert_eq!(other.inspect(name).await, None);
        other.granted(name).await;
    }
    mine.close().await;
    Contender { backend: other.backend.clone(), ..mine.clone() }.close().await;
    assert!(mine.is_expired().await);
    assert_eq!(other.owned().await.len(), 5, "a second close takes nothing from the next holder");
    assert_eq!(mine.join(&group("g")).await, Joined::Expired);
    other.backend.close_session(&SessionId::random()).await.expect("who never was can be closed");
    a_close_that_failed_half_way_is_finished(fixture, &other).await;
}

async fn a_close_that_failed_half_way_is_finished(fixture: &dyn Fixture, other: &Contender) {
    let half = Contender::lasting(fixture).await;
    let held = half.granted(&name("half")).await;
    half.join(&group("half")).await;
    if let Err(lack) = fixture.half_close(&half.session).await {
        return lack.declare();
    }
    half.close().await;
    assert_eq!(other.view(&group("half")).await, []);
    assert!(other.granted(&name("half")).await > held);
}

/// **S5** Metadata comes back in `members` and `inspect`.
pub async fn s5_metadata_comes_back_in_members_and_inspect(fixture: &dyn Fixture) {
    let witness = Contender::lasting(fixture).await;
    let backend = fixture.connect().await;
    let longest = "\u{1d11e}".repeat(1024);
    let texts =
        ["", " padded ", "O'Brien \"\\\" \\' %s {} ${x} :a ?", "naïve 漢字 🦁\r\n\t", "'); drop--", &longest];
    for (number, text) in texts.iter().enumerate() {
        let metadata: Metadata = text.parse().expect("1,024 characters are metadata");
        let opened = backend.open_session(lasting(fixture), &metadata).await.expect("a session opens");
        let mine = Contender { backend: backend.clone(), session: opened.session, lease: lasting(fixture) };
        let (lease, group) = (name(format!("n{number}")), group(&format!("g{number}")));
        let token = mine.granted(&lease).await;
        mine.join(&group).await;
        mine.alive().await;
        let holder = witness.inspect(&lease).await.expect("somebody holds it");
        assert_eq!((holder.session, holder.metadata, holder.token), (mine.session, metadata.clone(), token));
        let members = witness.members(&group).await;
        assert_eq!(members.len(), 1);
        assert_eq!(members[0].metadata, metadata);
    }
    assert!("x".repeat(1025).parse::<Metadata>().is_err(), "what is longer is refused");
}

/// **S7** A part of the storage that did not answer is reported as `unknown`, never as lost.
pub async fn s7_a_part_that_did_not_answer_is_unknown_not_lost(fixture: &dyn Fixture) {
    let mine = Contender::lasting(fixture).await;
    let held = names("n", 64);
    mine.acquire_all(&held).await;
    let alive = mine.alive().await;
    assert_eq!((alive.owned.len(), alive.unknown), (64, vec![]), "every part answers");
    let outage = match fixture.outage(Outage::Part).await {
        Ok(outage) => outage,
        Err(lack) => return lack.declare(),
    };
    let answer = mine.backend.keep_alive(&mine.session, mine.lease).await;
    outage.end().await;
    match answer {
        Ok(KeepAlive::Live { owned, unknown, .. }) => {
            let told: BTreeSet<_> = owned.into_iter().map(|(name, _)| name).chain(unknown).collect();
            assert_eq!(told, held.into_iter().collect(), "held or unknown, but not lost");
        }
        Ok(KeepAlive::Expired) => panic!("a part that does not answer expires no session"),
        Err(_) => {} // nothing was said about any lease
    }
}

/// **S8** A keep-alive never moves the session's expiry earlier; one that executes late changes nothing
/// that a newer one answered.
pub async fn s8_a_keep_alive_never_moves_the_expiry_earlier(fixture: &dyn Fixture) {
    let (mine, witness) = (Contender::lasting(fixture).await, Contender::lasting(fixture).await);
    let n = name("n");
    mine.granted(&n).await;
    mine.keep_alive_for(fixture.lease()).await.expect("the session lives");
    expires_after(&witness, &n, mine.lease / 2).await;

    let mut racing = vec![mine.clone(); 8];
    racing[3].lease = mine.lease * 2;
    racing.iter_mut().skip(4).for_each(|late| late.lease = fixture.lease());
    Contender::race(&racing, |session| async move { session.alive().await.remaining }).await;
    expires_after(&witness, &n, mine.lease).await;

    outlast(fixture).await;
    assert_eq!(mine.owned().await.len(), 1, "the session outlives its shortest keep-alive");
    a_keep_alive_that_executes_late_changes_nothing(fixture, &witness).await;
}

/// A keep-alive's own answer may be about no more than what it asked for; what others see may not.
async fn expires_after(witness: &Contender, n: &LeaseName, least: Duration) {
    let holder = witness.inspect(n).await.expect("the holder lives");
    if let Some(free_in) = holder.free_in {
        assert!(free_in > least, "a shorter keep-alive left {free_in:?} of more than {least:?}");
    }
}

async fn a_keep_alive_that_executes_late_changes_nothing(fixture: &dyn Fixture, witness: &Contender) {
    let mine = Contender::lasting(fixture).await;
    mine.granted(&name("late")).await;
    let hold = match fixture.hold_session(&mine.session).await {
        Ok(hold) => hold,
        Err(lack) => return lack.declare(),
    };
    let mut calls = vec![mine.clone(); 6];
    calls.iter_mut().skip(1).for_each(|late| late.lease = fixture.lease());
    let waiting = tokio::spawn(async move {
        Contender::race(&calls, |session| async move {
            // Those that give up while the row is held have changed nothing, which is all that counts.
            let _ = session.backend.keep_alive(&session.session, session.lease).await;
        })
        .await
    });
    fixture.pass(fixture.lease() / 2).await;
    hold.end().await;
    waiting.await.expect("a keep-alive does not panic");
    expires_after(witness, &name("late"), mine.lease / 2).await;
    outlast(fixture).await;
    mine.alive().await;
}
