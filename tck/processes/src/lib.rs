//! What the worker processes and the tests that start them agree on: a clock, a log, two tables.
//!
//! The tests are in `tests/`. They start the `failover` example and `src/bin/worker` as real processes on one
//! storage, kill and stop them or the storage, and then read what they left behind.

mod clock;
mod counter;
mod fence;
mod log;
mod resource;

pub use clock::now;
pub use counter::{Counter, Tally};
pub use fence::{Fence, Verdict, Write};
pub use log::{Log, Record};
pub use resource::RESOURCE;
