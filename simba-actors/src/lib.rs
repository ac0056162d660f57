//! Placeholder.
mod engine;
pub use engine::Reason;
