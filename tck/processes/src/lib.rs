//! What the worker processes and the tests that start them agree on: a clock, a log, two tables.
//!
//! The tests are in `tests/`. They start the `failover` example and `src/bin/worker.rs` as real processes
//! on one SQLite file, kill and stop them, and then read what they left behind.

mod clock;
mod counter;
mod fence;
mod log;

pub use clock::now;
pub use counter::{Counter, Tally};
pub use fence::{Fence, Verdict, Write};
pub use log::{Log, Record};
