//! Placeholder.
#![allow(dead_code, unused_imports)]
mod clock;
mod config;
mod engine;
mod term;

pub use config::{ConfigError, SimbaConfig, SimbaConfigBuilder};
pub use engine::Reason;
pub use term::{Term, TermError};
