//! Leases with several calls under way: L3, L11 to L14.

use std::{future::Future, pin::pin, task::Poll, time::Duration};

use simba_backends::{Acquired, Acquisition, KeepAlive, LeaseName, Token};

use crate::{
    Contest, Fixture,
    contender::{Contender, eventually, name, names, outlast},
};

/// **L3** Of any number of sessions racing for a name, exactly one is granted.
pub async fn l3_of_racing_sessions_one_is_granted(fixture: &dyn Fixture) {
    let mut racers = Vec::new();
    for _ in 0..4 {
        let first = Contender::lasting(fixture).await;
        for _ in 0..3 {
            racers.push(Contender::on(first.backend.clone(), first.lease).await);
        }
        racers.push(first);
    }
    for round in 0..4 {
        let n = name(format!("n{round}"));
        let (fresh, token) = one_is_granted(&racers, &n).await;
        fresh.release(&n, token).await;
        let (released, token_again) = one_is_granted(&racers, &n).await;
        assert!(token_again > token);
        released.release(&n, token_again).await;
    }
    let dies = Contender::open(fixture).await;
    let token = dies.granted(&name("expired")).await;
    outlast(fixture).await;
    let (_, taken) = one_is_granted(&racers, &name("expired")).await;
    assert!(taken > token);
    racing_batches_grant_each_name_once(&racers).await;
}

async fn one_is_granted(racers: &[Contender], n: &LeaseName) -> (Contender, Token) {
    let answers = Contender::race(racers, |racer| {
        let n = n.clone();
        async move { (racer.acquire(&n).await, racer) }
    })
    .await;
    let mut granted = Vec::new();
    for (answer, racer) in answers {
        match answer {
            Acquisition::Granted { token, .. } => granted.push((racer, token)),
            Acquisition::Held { .. } => {}
            Acquisition::AlreadyOwned { .. } | Acquisition::Failed(_) => panic!("{n}: {answer:?}"),
        }
    }
    assert_eq!(granted.len(), 1, "{n} was granted to {granted:?}");
    let (racer, token) = granted.remove(0);
    assert_eq!(racer.owned().await.get(n), Some(&token), "{n} is listed for whom it was granted to");
    (racer, token)
}

/// Half of them ask in the opposite order, which is how deadlocks are made.
async fn racing_batches_grant_each_name_once(racers: &[Contender]) {
    let all = names("batch", 20);
    let answers = Contender::race(racers, |racer| {
        let mut asked = all.clone();
        if racer.session.as_str().as_bytes()[0].is_multiple_of(2) {
            asked.reverse();
        }
        async move { racer.acquire_all(&asked).await }
    })
    .await;
    for name in &all {
        let grants = answers.iter().filter(|answer| matches!(answer[name], Acquisition::Granted { .. }));
        assert_eq!(grants.count(), 1, "{name} was granted once");
        let failed = answers.iter().find(|answer| matches!(answer[name], Acquisition::Failed(_)));
        assert!(failed.is_none(), "{name} failed: {failed:?}");
    }
}

/// **L11** A lease whose grant never reached the asker shows in the next owned list.
pub async fn l11_a_grant_that_was_never_heard_of_is_listed(fixture: &dyn Fixture) {
    let mine = Contender::lasting(fixture).await;
    let elsewhere = mine.elsewhere(fixture).await;
    for polls in 0..12 {
        let n = name(format!("n{polls}"));
        let heard = abandon(polls, mine.backend.acquire(&mine.session, std::slice::from_ref(&n))).await;
        if polls > 0
            && let Some(answer) = heard
        {
            assert!(matches!(answer, Ok(Acquired::Answers(_))), "{answer:?}");
            assert!(elsewhere.owned().await.contains_key(&n), "{n} was granted, whoever heard of it");
        }
        // An abandoned call may be applied, or not, or later; the list and the storage agree in the end.
        eventually(fixture, "the list tells what the storage has", async || {
            let listed = elsewhere.owned().await.get(&n).copied();
            let kept = mine.inspect(&n).await.map(|holder| holder.token);
            listed == kept
        })
        .await;
        assert!(matches!(
            mine.acquire(&n).await,
            Acquisition::Granted { .. } | Acquisition::AlreadyOwned { .. }
        ));
        assert!(mine.owned().await.contains_key(&n), "the client is usable after a call was dropped");
    }
}

/// Polls a call so many times and drops it, with or without its answer.
async fn abandon<T>(polls: u32, call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    let mut left = polls;
    std::future::poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        call.as_mut().poll(cx).map(Some)
    })
    .await
}

/// **L12** A keep-alive that races a take-over either wins or sees the lease gone.
pub async fn l12_a_keep_alive_racing_a_take_over_wins_or_sees_the_lease_gone(fixture: &dyn Fixture) {
    let takes = Contender::lasting(fixture).await;
    let backend = fixture.connect().await;
    let mut holders = Vec::new();
    for n in names("n", 24) {
        let holder = Contender::on(backend.clone(), fixture.lease()).await;
        holder.granted(&n).await;
        holders.push((holder, n));
    }
    fixture.pass(fixture.lease() * 38 / 40).await;
    for (holder, n) in holders {
        fixture.pass(fixture.lease() / 400).await;
        let keep = tokio::spawn(still_holds(holder.clone(), n.clone()));
        let take = tokio::spawn(takes_over(takes.clone(), n.clone()));
        let (kept, taken) = (keep.await, take.await);
        one_of_them(kept.expect("no call panics"), taken.expect("no call panics"), &n);
    }
    outlast(fixture).await;
    takes.acquire_all(&names("n", 24)).await;
    assert_eq!(takes.owned().await.len(), 24, "whoever won then has died since");
    both_waited_for_a_lock(fixture, &takes).await;
}

async fn both_waited_for_a_lock(fixture: &dyn Fixture, takes: &Contender) {
    let (n, lease) = (name("waited"), fixture.lease());
    let holder = Contender::open(fixture).await;
    holder.granted(&n).await;
    fixture.pass(lease * 3 / 4).await;
    let hold = match fixture.hold_session(&holder.session).await {
        Ok(hold) => hold,
        Err(lack) => return lack.declare(),
    };
    let keep = tokio::spawn(still_holds(holder.clone(), n.clone()));
    fixture.pass(lease / 2).await;
    let take = tokio::spawn(takes_over(takes.clone(), n.clone()));
    fixture.pass(lease / 10).await;
    hold.end().await;
    let (kept, taken) = (keep.await, take.await);
    one_of_them(kept.expect("no call panics"), taken.expect("no call panics"), &n);
}

async fn still_holds(holder: Contender, n: LeaseName) -> bool {
    match holder.backend.keep_alive(&holder.session, holder.lease).await {
        Ok(KeepAlive::Live { owned, .. }) => owned.iter().any(|(name, _)| *name == n),
        Ok(KeepAlive::Expired) | Err(_) => false,
    }
}

async fn takes_over(takes: Contender, n: LeaseName) -> bool {
    match takes.backend.acquire(&takes.session, &[n]).await {
        Ok(Acquired::Answers(answers)) => matches!(answers[..], [(_, Acquisition::Granted { .. })]),
        Ok(Acquired::Expired) | Err(_) => false,
    }
}

fn one_of_them(kept: bool, taken: bool, n: &LeaseName) {
    assert!(!(kept && taken), "{n} was kept by its holder and taken over by another");
}

/// **L13** A holder whose session opened after a take-over began is respected.
pub async fn l13_a_holder_that_opened_after_a_take_over_began_is_respected(fixture: &dyn Fixture) {
    let (first, second) = (Contender::lasting(fixture).await, fixture.connect().await);
    let all = names("n", 16);
    let dies = Contender::open(fixture).await;
    dies.acquire_all(&all).await;
    outlast(fixture).await;
    for n in all {
        let take = tokio::spawn(takes_over(first.clone(), n.clone()));
        let late = Contender::on(second.clone(), first.lease).await;
        let late_took = takes_over(late.clone(), n.clone()).await;
        respected(&first, take.await.expect("no call panics"), &late, late_took, &n).await;
    }
    a_take_over_that_waited_for_the_row_respects_it_too(fixture, &first).await;
}

async fn a_take_over_that_waited_for_the_row_respects_it_too(fixture: &dyn Fixture, first: &Contender) {
    let n = name("waited");
    let dies = Contender::open(fixture).await;
    dies.granted(&n).await;
    outlast(fixture).await;
    let hold = match fixture.hold_lease(&n).await {
        Ok(hold) => hold,
        Err(lack) => return lack.declare(),
    };
    let began = tokio::spawn(takes_over(first.clone(), n.clone()));
    fixture.pass(fixture.lease() / 10).await;
    let late = Contender::on(fixture.connect().await, first.lease).await;
    let take = tokio::spawn(takes_over(late.clone(), n.clone()));
    fixture.pass(fixture.lease() / 10).await;
    hold.end().await;
    let (first_took, late_took) = (began.await, take.await);
    let (first_took, late_took) = (first_took.expect("no call panics"), late_took.expect("no call panics"));
    respected(first, first_took, &late, late_took, &n).await;
}

async fn respected(first: &Contender, first_took: bool, late: &Contender, late_took: bool, n: &LeaseName) {
    assert!(!(first_took && late_took), "{n} was granted to two live sessions");
    assert_eq!(first.owned().await.contains_key(n), first_took, "{n}");
    assert_eq!(late.owned().await.contains_key(n), late_took, "{n}");
}

/// **L14** A client that is stopped in the middle of an acquire holds up nobody's keep-alive.
pub async fn l14_a_client_stopped_inside_an_acquire_holds_up_no_keep_alive(fixture: &dyn Fixture) {
    let mine = Contender::open(fixture).await;
    let held = names("held", 3);
    mine.acquire_all(&held).await;
    stop_and_keep_alive(fixture, &mine, &held, Contest::Held).await;
    stop_and_keep_alive(fixture, &mine, &names("free", 3), Contest::Free).await;
}

async fn stop_and_keep_alive(fixture: &dyn Fixture, mine: &Contender, names: &[LeaseName], contest: Contest) {
    let mut rival = match fixture.rival(names, contest).await {
        Ok(rival) => rival,
        Err(lack) => return lack.declare(),
    };
    for round in 0..24 {
        // Multiples of a prime reach every phase of the rival's loop.
        fixture.pass(Duration::from_micros(u64::from(round * 7919_u32 % 20_011))).await;
        rival.stop().await;
        let answer = tokio::time::timeout(mine.lease, mine.alive()).await;
        rival.resume().await;
        let alive =
            answer.unwrap_or_else(|_| panic!("{contest:?}, round {round}: the stopped client is in the way"));
        assert_eq!(alive.owned.len(), 3, "nobody took what was kept alive");
    }
    rival.kill().await;
}
