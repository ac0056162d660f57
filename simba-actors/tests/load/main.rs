//! Simba under load, on its own thread and in real time: one test at a time, because they measure.

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
