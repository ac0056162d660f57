//! Pairs of an acquire and a release.

use std::time::Duration;

use simba_actors::{Lock, Simba};
use tokio::task::JoinSet;

use crate::{
    clock::now,
    figures::Figures,
    raw::{self, CONNECTIONS},
    storage::Storage,
};

/// Longer than anything here takes.
pub(crate) const WAIT: Duration = Duration::from_secs(60);

/// Pairs a second, and how long each took.
struct Rate {
    per_second: f64,
    each: Figures,
}

impl Rate {
    fn of(took: Vec<Duration>, all: Duration) -> Self {
        Self { per_second: took.len() as f64 / all.as_secs_f64(), each: Figures::of(took) }
    }
}

pub(crate) async fn measure(storage: &Storage) {
    let simba = Simba::connect(&storage.url).await.expect("the storage is there");
    if storage.kind == "memory" {
        for (tasks, each) in [(1, 1_000), (16, 200), (256, 40)] {
            show(storage, "simba", tasks, &simba_pairs(&simba, tasks, each).await, None);
        }
        return;
    }
    // The other processes of the machine come and go: the raw driver is measured beside each.
    for (tasks, each, connections, raw_each) in [(1, 1_000, 1, 500), (16, 200, 4, 200), (256, 80, 4, 500)] {
        let (connections, raw_each) = match storage.kind {
            // One connection that all share, by as many tasks as beside it.
            "redis" | "zookeeper" => (tasks, each),
            _ => (connections.min(CONNECTIONS), raw_each),
        };
        let (took, all) = raw::pairs(storage, connections, raw_each).await;
        let raw = Rate::of(took, all);
        show(storage, "raw, at once", connections, &raw, None);
        show(storage, "simba, tasks", tasks, &simba_pairs(&simba, tasks, each).await, Some(&raw));
    }
    simba.close().await.expect("the storage is there");
}

fn show(storage: &Storage, who: &str, of: usize, rate: &Rate, beside: Option<&Rate>) {
    let ratio = beside.map_or_else(String::new, |raw| {
        let latency = rate.each.p50().as_secs_f64() / raw.each.p50().as_secs_f64();
        format!("; {:.2} of raw's rate, p50 {latency:.2} of raw's", rate.per_second / raw.per_second)
    });
    let kind = storage.kind;
    println!("{kind}, {who} {of}: {:.0} pairs/s, {}{ratio}", rate.per_second, rate.each);
}

async fn simba_pairs(simba: &Simba, tasks: usize, each: u32) -> Rate {
    let start = now();
    let mut work = JoinSet::new();
    for task in 0..tasks {
        let lock = simba.lock(format!("pair-{task}")).expect("a good name");
        work.spawn(repeat(lock, each));
    }
    let took = work.join_all().await.into_iter().flatten().collect();
    Rate::of(took, start.elapsed())
}

async fn repeat(lock: Lock, times: u32) -> Vec<Duration> {
    let mut took = Vec::new();
    for _ in 0..times {
        let start = now();
        let term = lock.acquire(WAIT).await.expect("nobody else wants it");
        term.release().await.expect("the session lives");
        took.push(start.elapsed());
    }
    took
}
