//! Sessions of one process that another keeps alive, closes, purges or robs.

use std::time::Duration;

use simba_backends::{BackendError, ErrorKind, Joined, LeaseName, Outcome, SessionId};
use simba_tck::{Census, Fixture};

use super::{Here, LONG, granted, name};
use crate::rival::Child;

impl Here {
    /// What others see of the holder's lease.
    async fn free_in(&self, name: &LeaseName) -> Duration {
        let holder = self.backend.inspect(name).await.unwrap().expect("somebody holds it");
        holder.free_in.expect("the storage knows when")
    }
}

#[tokio::test]
async fn s2_either_process_keeps_a_session_alive_and_is_told_what_it_holds() {
    let here = Here::open().await;
    if !here.shares_sessions() {
        return;
    }
    let mut there = Child::start(&here.fixture.url()).await;
    let mine = here.another(LONG).await;
    let (a, b) = (name("a"), name("b"));
    let first = here.granted_to(&mine, &a).await;
    let second = granted(&there.acquire(&mine, &b).await);
    there.join(&mine, &"g".parse().unwrap()).await;
    assert_eq!(here.backend.join(&mine, &"h".parse().unwrap()).await.unwrap(), Joined::Member);

    let all = format!("live a={first} b={second} +g +h");
    assert_eq!(there.keep_alive(&mine, LONG * 2).await, all);
    assert!(here.free_in(&a).await > LONG * 3 / 2, "the other process restored the full lease");
    assert_eq!(here.keep_alive(&mine, LONG * 3).await, all);
    assert!(here.free_in(&b).await > LONG * 5 / 2);

    here.backend.release(&mine, &[(b, second)]).await.unwrap();
    there.leave(&mine, &"h".parse().unwrap()).await;
    let rest = format!("live a={first} +g");
    assert_eq!(there.keep_alive(&mine, LONG).await, rest);
    assert_eq!(here.keep_alive(&mine, LONG).await, rest);
}

#[tokio::test]
async fn s2_a_session_that_only_its_opener_can_use_is_refused_to_others_and_lives_on() {
    let here = Here::open().await;
    if here.shares_sessions() {
        return;
    }
    let mut there = Child::start(&here.fixture.url()).await;
    let (theirs, n, g) = (there.open(LONG).await, name("n"), "g".parse().unwrap());
    let token = granted(&there.acquire(&theirs, &n).await);
    there.join(&theirs, &g).await;

    let backend = &here.backend;
    unsupported(backend.keep_alive(&theirs, LONG).await);
    unsupported(backend.acquire(&theirs, &[name("m")]).await);
    unsupported(backend.release(&theirs, &[(n.clone(), token)]).await);
    unsupported(backend.join(&theirs, &"h".parse().unwrap()).await);
    unsupported(backend.leave(&theirs, &g).await);
    unsupported(backend.close_session(&theirs).await);
    assert_eq!(there.keep_alive(&theirs, LONG).await, format!("live n={token} +g"));

    there.close(&theirs).await;
    assert_eq!(here.keep_alive(&theirs, LONG).await, "expired");
    backend.close_session(&theirs).await.unwrap();
    assert!(here.granted(&n).await > token);
}

fn unsupported<T: std::fmt::Debug>(answer: Result<T, BackendError>) {
    let error = answer.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Unsupported, Outcome::NotApplied), "{error:?}");
}

#[tokio::test]
async fn s4_what_one_process_closes_is_free_for_the_other_at_once() {
    let here = Here::open().await;
    if !here.shares_sessions() {
        return;
    }
    let mut there = Child::start(&here.fixture.url()).await;
    let (mine, half, theirs) = (here.another(LONG).await, here.another(LONG).await, there.open(LONG).await);
    let (n, m) = (name("n"), name("m"));
    let held = here.granted_to(&mine, &n).await;
    let half_held = here.granted_to(&half, &m).await;
    let group = "g".parse().unwrap();
    there.join(&mine, &group).await;
    there.join(&half, &group).await;

    there.close(&mine).await;
    assert_eq!(here.holder(&n).await, None);
    assert_eq!(here.keep_alive(&mine, LONG).await, "expired");
    let taken = granted(&there.acquire(&theirs, &n).await);
    assert!(taken > held);
    here.backend.close_session(&mine).await.unwrap();
    there.close(&mine).await;
    assert_eq!(here.holder(&n).await, Some((theirs.clone(), taken)), "a second close frees nothing more");

    here.fixture.half_close(&half).await.unwrap();
    there.close(&half).await;
    assert_eq!(here.backend.members(&group).await.unwrap(), []);
    assert!(here.granted(&m).await > half_held);
    there.close(&theirs).await;
    assert!(here.granted(&n).await > taken);
}

#[tokio::test]
async fn s6_another_process_purges_the_dead_of_this_one_and_no_token() {
    let here = Here::open().await;
    if let Err(lack) = here.fixture.purge_interval() {
        return lack.declare();
    }
    let mut there = Child::start(&here.fixture.url()).await;
    let theirs = there.open(LONG).await;
    let (dies, half) = (here.another(here.fixture.lease() * 2).await, here.another(LONG).await);
    let (n, m) = (name("n"), name("m"));
    let tokens = [here.granted_to(&dies, &n).await, here.granted_to(&half, &m).await];
    for session in [&dies, &half] {
        there.join(session, &"g".parse().unwrap()).await;
    }
    here.fixture.half_close(&half).await.unwrap();

    // From here on this process only counts; who purges is the other.
    let left = Census { sessions: 2, memberships: 0, tokens: 2 };
    eventually_left(&here, &mut there, &theirs, left).await;
    assert_eq!(here.keep_alive(&dies, LONG).await, "expired");
    assert!(here.granted(&n).await > tokens[0]);
    assert!(here.granted(&m).await > tokens[1]);
}

async fn eventually_left(here: &Here, there: &mut Child, theirs: &SessionId, left: Census) {
    let mut census = here.fixture.census().await.unwrap();
    for _ in 0..300 {
        assert_eq!(there.keep_alive(theirs, LONG).await, "live ");
        if census == left {
            return;
        }
        here.fixture.pass(Duration::from_millis(200)).await;
        census = here.fixture.census().await.unwrap();
    }
    panic!("{census:?} instead of {left:?}");
}

#[tokio::test]
async fn s8_a_shorter_keep_alive_of_another_process_moves_no_expiry_earlier() {
    let here = Here::open().await;
    if !here.shares_sessions() {
        return;
    }
    let mut there = Child::start(&here.fixture.url()).await;
    let (short, n) = (here.fixture.lease(), name("n"));
    let token = here.granted(&n).await;
    let live = format!("live n={token}");
    assert_eq!(there.keep_alive(&here.session, short).await, live);
    assert!(here.free_in(&n).await > LONG / 2);
    for round in 2..22 {
        let (ours, theirs) = tokio::join!(
            here.keep_alive(&here.session, LONG * round),
            there.keep_alive(&here.session, short),
        );
        assert_eq!((ours, theirs), (live.clone(), live.clone()));
        assert!(here.free_in(&n).await > LONG * (round - 1), "the shorter one won in round {round}");
    }
}

/// Each holder is kept alive here, for long, about when it expires and the other process takes over.
#[tokio::test]
async fn l12_a_keep_alive_racing_another_process_wins_or_sees_the_lease_gone() {
    let here = Here::open().await;
    let mut there = Child::start(&here.fixture.url()).await;
    let (theirs, lease) = (there.open(LONG).await, here.fixture.lease());
    let mut holders = Vec::new();
    for round in 0..24 {
        let (holder, n) = (here.another(lease).await, name(&format!("n{round}")));
        let token = here.granted_to(&holder, &n).await;
        holders.push((holder, n, token));
    }
    here.fixture.pass(lease * 38 / 40).await;
    let mut won = [0, 0, 0];
    for (holder, n, token) in holders {
        here.fixture.pass(lease / 400).await;
        let (kept, taken) = tokio::join!(here.keep_alive(&holder, LONG), there.acquire(&theirs, &n));
        match (kept.as_str(), taken.as_str()) {
            (kept, "held") if kept == format!("live {n}={token}") => {
                assert_eq!(here.holder(&n).await, Some((holder, token)));
                won[0] += 1;
            }
            ("expired", "held") => won[2] += 1,
            ("expired", taken) => {
                assert_eq!(here.holder(&n).await, Some((theirs.clone(), granted(taken))));
                won[1] += 1;
            }
            other => panic!("{n}: {other:?}"),
        }
    }
    println!("kept here, taken there, neither: {won:?}");
}
