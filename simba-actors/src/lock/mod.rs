//! Locks: one term at a time for whoever asks, in this process and others.

mod actor;
mod handle;
mod messages;
mod request;
mod term;

pub(crate) use actor::{LockActor, LockSpec};
pub use handle::Lock;
pub use messages::LockError;
pub(crate) use messages::{GiveUp, LockRequest};
pub use term::LockTerm;
