//! Placeholder.
#![allow(dead_code, unused_imports)]
mod clock;
mod config;
mod engine;
mod event;
mod supervise;
mod term;

pub use config::{ConfigError, SimbaConfig, SimbaConfigBuilder};
pub use engine::Reason;
pub use event::{Events, SimbaEvent};
pub use supervise::supervise;
pub use term::{Term, TermError};
