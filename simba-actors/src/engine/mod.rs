//! The pure engine.

mod instant;
mod reason;
mod timing;

pub(crate) use instant::Instant;
pub use reason::Reason;
pub(crate) use timing::Timing;
