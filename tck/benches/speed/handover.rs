//! From a release to the acquire of one that waits elsewhere, each with a session of its own.

use std::time::Duration;

use simba_actors::Simba;
use tokio::{sync::oneshot, time::sleep};

use crate::{clock::now, figures::Figures, pairs::WAIT, storage::Storage};

const ROUNDS: u32 = 100;

/// Long enough that the waiter has been refused and waits for a hint.
const PARKED: Duration = Duration::from_millis(30);

pub(crate) async fn measure(storage: &Storage) {
    let sides = [connect(storage).await, connect(storage).await];
    let mut took = Vec::new();
    let mut term = lock(&sides[0]).acquire(WAIT).await.expect("nobody else wants it");
    for round in 0..ROUNDS {
        let next = lock(&sides[usize::from(round % 2 == 0)]);
        let (acquired, acquires) = oneshot::channel();
        tokio::spawn(async move {
            let term = next.acquire(WAIT).await.expect("the storage is there");
            // An error says that the bench has ended.
            let _ = acquired.send((now(), term));
        });
        sleep(PARKED).await;
        let start = now();
        term.release().await.expect("the session lives");
        let (at, next) = acquires.await.expect("it is released");
        took.push(at.saturating_duration_since(start));
        term = next;
    }
    term.release().await.expect("the session lives");
    println!("{}, release until acquired by one that waits: {}", storage.kind, Figures::of(took));
    for side in sides {
        side.close().await.expect("the storage is there");
    }
}

async fn connect(storage: &Storage) -> Simba {
    Simba::connect(&storage.url).await.expect("the storage is there")
}

fn lock(simba: &Simba) -> simba_actors::Lock {
    simba.lock("handed-over").expect("a good name")
}
