//! Many candidates of one name: a release calls all of them, and few of them ask in vain.
//!
//! On virtual time, the worst of 20 hand-overs after 3 to warm up, the mean in brackets:
//!
//! ```text
//!   candidates    calls in the first second    a winner after
//!            1              1   (1)                0 ms   (0)
//!            2              2   (2)                0 ms   (0)
//!           10             10  (10)                0 ms   (0)
//!          200             36  (25)              159 ms  (45)
//! ```

use std::{sync::Arc, time::Duration};

use simba_actors::{Simba, SimbaConfig};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};

use crate::fixture::{FaultyBackend, MS, Op, World, now, seconds, virtually};

/// Hand-overs before one is measured, and how many are measured.
const WARM_UP: usize = 3;
const MEASURED: usize = 20;

/// What one hand-over took.
#[derive(Clone, Copy, Debug, Default)]
struct HandOver {
    winner_after: Duration,
    calls: usize,
}

/// Regular attempts are so rare that what is counted is the hint's doing.
async fn candidate(backend: &FaultyBackend, seed: u64) -> Simba {
    let config = SimbaConfig::builder().lease(seconds(1_800)).build().unwrap();
    let builder = Simba::builder().backend(Arc::new(backend.clone())).config(config);
    builder.on_this_thread().seed(seed).connect().await.unwrap()
}

/// Hands a lock over among so many candidates, and tells of each hand-over after the first few.
async fn hand_overs(candidates: usize) -> Vec<HandOver> {
    let world = World::new();
    let (won, mut winner) = mpsc::unbounded_channel();
    for seed in 0..=candidates {
        let (simba, won) = (candidate(&world.backend, seed as u64).await, won.clone());
        actix::spawn(async move {
            loop {
                let term = simba.lock("x").unwrap().acquire(seconds(7_000)).await.unwrap();
                let (released, is_released) = tokio::sync::oneshot::channel::<Instant>();
                won.send((now(), term, released)).unwrap();
                is_released.await.unwrap();
            }
        });
    }
    let (_, mut term, mut released) = winner.recv().await.unwrap();
    let mut measured = Vec::new();
    for round in 0..WARM_UP + MEASURED {
        sleep(seconds(30)).await;
        let before = world.backend.count(Op::Acquire);
        let freed = now();
        term.release().await.unwrap();
        let (at, next_term, next_released) = winner.recv().await.unwrap();
        sleep(seconds(1).saturating_sub(freed.elapsed())).await;
        let hand_over = HandOver {
            winner_after: at.duration_since(freed),
            calls: world.backend.count(Op::Acquire) - before,
        };
        if round >= WARM_UP {
            measured.push(hand_over);
        }
        // The one that had it contends again only now.
        released.send(now()).unwrap();
        (term, released) = (next_term, next_released);
    }
    measured
}

/// The worst of all; the figures are printed.
fn worst(candidates: usize) -> HandOver {
    let hand_overs = virtually(hand_overs(candidates));
    let calls: usize = hand_overs.iter().map(|hand_over| hand_over.calls).sum();
    let waited: Duration = hand_overs.iter().map(|hand_over| hand_over.winner_after).sum();
    let worst = HandOver {
        winner_after: hand_overs.iter().map(|hand_over| hand_over.winner_after).max().unwrap(),
        calls: hand_overs.iter().map(|hand_over| hand_over.calls).max().unwrap(),
    };
    println!(
        "{candidates} candidates: {} calls in the first second (at most {}), a winner after {:?} (at most {:?})",
        calls / hand_overs.len(),
        worst.calls,
        waited / hand_overs.len() as u32,
        worst.winner_after,
    );
    worst
}

#[test]
fn two_hundred_candidates_do_not_stampede() {
    let worst = worst(200);
    assert!(worst.winner_after < 300 * MS, "{worst:?}");
    assert!(worst.calls <= 40, "{worst:?}");
}

#[test]
fn few_candidates_hand_over_quickly() {
    let pair = worst(2);
    assert!(pair.winner_after <= MS && pair.calls <= 2, "{pair:?}");
    let ten = worst(10);
    assert!(ten.winner_after <= MS && ten.calls <= 10, "{ten:?}");
}

#[test]
fn a_single_candidate_is_served_at_once() {
    let single = worst(1);
    assert!(single.winner_after <= MS && single.calls == 1, "{single:?}");
}
