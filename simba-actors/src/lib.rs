//! Placeholder.
#![allow(dead_code, unused_imports, reason = "until the modules are wired together")]

mod clock;
mod engine;

pub use engine::Reason;
