//! What Simba costs, each figure beside the raw driver's in the same run: `cargo bench -p simba-tck`, with the
//! names of storages behind `--` only those.
//!
//! A pair is one acquire and one release of a name of its own. "raw" is the same two statements on held
//! connections to the same server with the same durability, and nothing around them.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod clock;
mod figures;
mod handover;
mod many;
mod pairs;
mod raw;
mod storage;
mod validity;

use self::storage::Storage;

#[tokio::main(worker_threads = 2)]
async fn main() {
    // Cargo adds `--bench`.
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    validity::measure().await;
    for kind in storage::KINDS {
        if asked.is_empty() || asked.iter().any(|word| word == kind) {
            let storage = Storage::start(kind).await;
            pairs::measure(&storage).await;
            handover::measure(&storage).await;
            many::measure(&storage).await;
        }
    }
}
