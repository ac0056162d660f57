//! Leader election and distributed locks for actix, over a storage you already run.

// The tests within use the fixtures of those without.
#[cfg(test)]
extern crate self as simba_actors;

mod backend;
mod clock;
mod config;
mod election;
mod engine;
mod event;
mod gate;
mod keeper;
mod lock;
mod observe;
mod session;
mod simba;
mod supervise;
mod term;

pub use simba_backends as backends;
pub use simba_backends::{BackendError, Holder, LeaseName, Metadata, NameError, SessionId, Token};

pub use config::{ConfigError, SimbaConfig, SimbaConfigBuilder};
pub use election::{
    Elected, Election, ElectionBuilder, ElectionEnded, Job, LeaderActor, Revoked, WorkOutcome,
};
pub use engine::Reason;
pub use event::{Events, SimbaEvent};
pub use lock::{Lock, LockError, LockTerm};
pub use observe::ObserveError;
pub use session::{StartError, Use};
pub use simba::{CloseError, ConnectError, Simba, SimbaBuilder};
pub use supervise::supervise;
pub use term::{Term, TermError};
