//! `is_valid` of a term that runs; the target is at most 60 ns.

use std::hint::black_box;

use simba_actors::Simba;

use crate::{clock::now, pairs::WAIT};

const ROUNDS: u32 = 5_000_000;

pub(crate) async fn measure() {
    let simba = Simba::connect("memory:").await.expect("memory is always there");
    let lock = simba.lock("validity").expect("a good name");
    let term = lock.acquire(WAIT).await.expect("nobody else wants it");
    let start = now();
    black_box((0..ROUNDS).filter(|_| black_box(&term).is_valid()).count());
    let nanos = start.elapsed().as_nanos() as f64 / f64::from(ROUNDS);
    println!("is_valid: {nanos:.1} ns (target: at most 60)");
}
