//! Hints, where they are declared: H1 to H3.

use std::{future::poll_fn, pin::Pin, time::Duration};

use simba_backends::{Hint, HintSource, LeaseName};
use tokio::time::timeout;

use crate::{
    Fixture,
    contender::{Contender, name},
    power::declare,
};

const SOON: Duration = Duration::from_secs(1);

/// The hints of a client of its own, or the entry that there are none.
async fn subscribe(fixture: &dyn Fixture) -> Option<Box<dyn HintSource>> {
    let backend = fixture.connect().await;
    let hints = backend.hints();
    assert_eq!(hints.is_some(), backend.capabilities().hints, "hints are handed out where declared");
    if hints.is_none() {
        declare("hints: a waiter looks again at its regular times");
    }
    hints
}

async fn next(hints: &mut dyn HintSource) -> Hint {
    let hint = poll_fn(|cx| Pin::new(&mut *hints).poll_next(cx)).await;
    hint.expect("hints end only when the storage can hint no more")
}

/// Waits for a release or a gap that makes a waiter of that name look again.
async fn hinted(hints: &mut dyn HintSource, waited: &LeaseName) {
    let look_again = async {
        loop {
            match next(hints).await {
                Hint::Released { name, .. } if name == *waited => return,
                Hint::Gap => return,
                Hint::Released { .. } | Hint::Members(_) => {}
            }
        }
    };
    let hint = timeout(SOON, look_again).await;
    hint.unwrap_or_else(|_| panic!("no hint within {SOON:?} that {waited} was released"));
}

/// Lets a subscription that connects in the background say what it has to say at first.
async fn settle(hints: &mut dyn HintSource) {
    while timeout(SOON, next(hints)).await.is_ok() {}
}

/// **H1** A release is hinted within a second to those who want the name.
pub async fn h1_a_release_is_hinted_within_a_second(fixture: &dyn Fixture) {
    let Some(mut hints) = subscribe(fixture).await else { return };
    let holder = Contender::lasting(fixture).await;
    let (wanted, other, closed) = (name("wanted"), name("other"), name("closed"));
    let (token, token_other) = (holder.granted(&wanted).await, holder.granted(&other).await);
    holder.granted(&closed).await;
    hints.want(&wanted);
    hints.want(&closed);
    settle(&mut *hints).await;
    holder.release(&other, token_other).await;
    holder.release(&wanted, token).await;
    hinted(&mut *hints, &wanted).await;
    assert!(holder.granted(&wanted).await > token, "a hint is about a lease that is free");
    settle(&mut *hints).await;

    holder.close().await;
    hinted(&mut *hints, &closed).await;
    let again = Contender::lasting(fixture).await;
    let token = again.granted(&wanted).await;
    hints.unwant(&wanted);
    settle(&mut *hints).await;
    again.release(&wanted, token).await;
    let unwanted = |hint: &Hint| matches!(hint, Hint::Released { name, .. } if *name == wanted);
    while let Ok(hint) = timeout(SOON, next(&mut *hints)).await {
        assert!(!unwanted(&hint), "nobody wants {wanted} any more");
    }
}

/// **H2** After a reconnect, `Gap` says "look again".
pub async fn h2_after_a_reconnect_a_gap_says_look_again(fixture: &dyn Fixture) {
    let Some(mut hints) = subscribe(fixture).await else { return };
    let holder = Contender::lasting(fixture).await;
    let n = name("n");
    let token = holder.granted(&n).await;
    hints.want(&n);
    settle(&mut *hints).await;
    if let Err(lack) = fixture.lose_hints().await {
        return lack.declare();
    }
    let gap = async { while next(&mut *hints).await != Hint::Gap {} };
    timeout(fixture.patience(), gap).await.expect("the subscription comes back and says that it was away");
    settle(&mut *hints).await;
    holder.release(&n, token).await;
    hinted(&mut *hints, &n).await;
}

/// **H3** A dropped hint costs latency only.
pub async fn h3_dropped_hints_cost_latency_only(fixture: &dyn Fixture) {
    let (holder, waits) = (Contender::lasting(fixture).await, Contender::lasting(fixture).await);
    let n = name("n");
    let token = holder.granted(&n).await;
    let mut unread = subscribe(fixture).await;
    if let Some(hints) = &mut unread {
        hints.want(&n);
    }
    waits.refused(&n).await;
    drop(subscribe(fixture).await);
    holder.release(&n, token).await;
    let mut token = waits.granted(&n).await;
    for _ in 0..200 {
        waits.release(&n, token).await;
        token = waits.granted(&n).await;
    }
    waits.release(&n, token).await;
    if let Some(hints) = &mut unread {
        hinted(&mut **hints, &n).await;
    }
}
