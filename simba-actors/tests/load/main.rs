//! Simba under load, on its own thread and in real time: one test at a time, because they measure.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]
#![expect(clippy::print_stdout, reason = "the figures are what these tests are for")]

use std::sync::{Mutex, MutexGuard, PoisonError};

#[expect(dead_code, unused_imports, reason = "not every fixture is needed here")]
#[path = "../it/fixture/mod.rs"]
mod fixture;
mod flood;
mod many;

static TURN: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
