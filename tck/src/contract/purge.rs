//! Sessions: S6, what happens to the dead.

use simba_backends::Joined;

use crate::{
    Census, Fixture,
    contender::{Contender, eventually, group, name, outlast},
};

/// More sessions than one purge may remove.
const DEAD: usize = 1200;

/// **S6** A purge removes dead sessions, their memberships, and memberships and holdings whose session is
/// gone: at most once per its interval, at most 1,000 sessions a run. It never removes a token.
pub async fn s6_a_purge_removes_the_dead_and_never_a_token(fixture: &dyn Fixture) {
    let interval = match fixture.purge_interval() {
        Ok(interval) => interval,
        Err(lack) => return lack.declare(),
    };
    let lives = Contender::on(fixture.connect().await, fixture.lease() * 60 + interval * 8).await;
    let kept = lives.granted(&name("kept")).await;
    assert_eq!(lives.join(&group("g")).await, Joined::Member);
    let dies = Contender::open(fixture).await;
    let token = dies.granted(&name("n")).await;
    assert_eq!(dies.join(&group("g")).await, Joined::Member);
    outlast(fixture).await;
    for _ in 0..3 {
        fixture.pass(interval).await;
        purge(&lives).await;
    }

    assert_eq!(lives.view(&group("g")).await, std::slice::from_ref(&lives.session));
    assert_eq!(lives.owned().await.into_iter().collect::<Vec<_>>(), [(name("kept"), kept)]);
    assert!(dies.is_expired().await);
    assert!(lives.granted(&name("n")).await > token, "the purge removed a token");
    match fixture.census().await {
        Ok(census) => what_the_storage_keeps_shrinks(fixture, &lives, census).await,
        Err(lack) => lack.declare(),
    }
}

/// Calls that purge when it is time.
async fn purge(lives: &Contender) {
    lives.alive().await;
    Contender::on(lives.backend.clone(), lives.lease).await.close().await;
}

async fn count(fixture: &dyn Fixture) -> Census {
    fixture.census().await.expect("a fixture that counts counts again")
}

async fn what_the_storage_keeps_shrinks(fixture: &dyn Fixture, lives: &Contender, before: Census) {
    assert_eq!((before.sessions, before.memberships, before.tokens), (1, 1, 2), "only the living are left");
    let interval = fixture.purge_interval().expect("a fixture that purges purges again");
    let orphans = orphan(fixture).await;
    let (backend, lease) = (fixture.connect().await, fixture.lease() * 5);
    for _ in 0..DEAD {
        Contender::on(backend.clone(), lease).await;
    }
    fixture.pass(lease + interval).await;
    purge(lives).await;
    purge(lives).await;
    let first = count(fixture).await;
    assert!(first.sessions > DEAD - 1000, "more than 1,000 sessions in one interval: {first:?}");
    for _ in 0..4 {
        fixture.pass(interval).await;
        purge(lives).await;
    }
    let expected = Census { sessions: 1, memberships: 1, tokens: 2 + orphans };
    eventually(fixture, "the dead are gone, their tokens are not", async || count(fixture).await == expected)
        .await;
}

/// A lease and a membership whose session is gone; tells how many tokens that made.
async fn orphan(fixture: &dyn Fixture) -> usize {
    let half = Contender::lasting(fixture).await;
    half.granted(&name("orphan")).await;
    half.join(&group("orphan")).await;
    match fixture.half_close(&half.session).await {
        Ok(()) => {}
        Err(lack) => {
            lack.declare();
            half.close().await;
        }
    }
    1
}
