//! Placeholder.
#![allow(dead_code, unused_imports)]
mod engine;
pub use engine::Reason;
#[allow(unused)]
fn _x() {}
