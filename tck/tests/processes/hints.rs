//! What one process frees, another hears of.

use std::{future::poll_fn, pin::Pin, time::Duration};

use simba_backends::{Hint, HintSource, LeaseName};
use tokio::time::timeout;

use super::{Here, LONG, granted, name};
use crate::rival::Child;

const SOON: Duration = Duration::from_secs(1);

async fn next(hints: &mut dyn HintSource) -> Hint {
    poll_fn(|cx| Pin::new(&mut *hints).poll_next(cx)).await.expect("hints do not end")
}

async fn settle(hints: &mut dyn HintSource) {
    while timeout(SOON, next(hints)).await.is_ok() {}
}

/// Waits for what makes a waiter of that name look again.
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

#[tokio::test]
async fn h1_a_release_and_a_close_in_another_process_are_hinted_within_a_second() {
    let here = Here::open().await;
    let mut there = Child::start(&here.fixture.url()).await;
    let session = there.open(LONG).await;
    let Some(mut hints) = here.backend.hints() else {
        assert!(!here.backend.capabilities().hints, "hints are handed out where declared");
        return println!("not declared: hints: a waiter looks again at its regular times");
    };
    let mut held = Vec::new();
    for round in 0..5 {
        let n = name(&format!("n{round}"));
        let token = granted(&there.acquire(&session, &n).await);
        hints.want(&n);
        held.push((n, token));
    }
    let closed = name("closed");
    granted(&there.acquire(&session, &closed).await);
    hints.want(&closed);

    for (n, token) in held {
        settle(&mut *hints).await;
        there.release(&session, &n, token).await;
        hinted(&mut *hints, &n).await;
        assert!(here.granted(&n).await > token, "what is hinted is free");
    }
    settle(&mut *hints).await;
    there.close(&session).await;
    hinted(&mut *hints, &closed).await;
    here.granted(&closed).await;
}
