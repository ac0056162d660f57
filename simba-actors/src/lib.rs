//! Leader election and distributed locks for actix, over a storage that you already run.
//!
//! # What is promised
//!
//! At most one *valid* [`Term`] per name at any moment, as long as no process's clock runs wrong by more
//! than the configured `drift`, the storage's clock does not step, and the storage loses nothing that it
//! committed.
//!
//! # What is not
//!
//! A term is a weakly consistent view: between [`Term::is_valid`] and the write that follows, a process can
//! be stopped for an hour. Nobody can promise "no split brain" from outside of the resource. A resource
//! that must survive that too checks the fencing token ([`Term::token`]): it accepts a token at least as
//! high as the highest it has seen and rejects a lower one, atomically with the write.
//!
//! What else breaks the promise: a hypervisor that pauses the guest's boot clock, and a failover that
//! carries absolute times to a server with another clock, which *is* a step.
//!
//! # An election and a lock
//!
//! ```
//! use std::time::Duration;
//! use actix::prelude::*;
//! use simba_actors::{Elected, Revoked, Simba, supervise};
//!
//! struct Dispatcher;
//!
//! impl Actor for Dispatcher {
//!     type Context = Context<Self>;
//! }
//!
//! impl Handler<Elected> for Dispatcher {
//!     type Result = ();
//!     fn handle(&mut self, Elected(term): Elected, _: &mut Context<Self>) {
//!         println!("leading {} with token {}", term.name(), term.token());
//!     }
//! }
//!
//! impl Handler<Revoked> for Dispatcher {
//!     type Result = ();
//!     fn handle(&mut self, Revoked(term, reason): Revoked, _: &mut Context<Self>) {
//!         println!("no longer leading {}: {reason}", term.name());
//!     }
//! }
//!
//! #[actix::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let simba = Simba::connect("memory:").await?;
//!     let dispatcher = supervise(|| Dispatcher);
//!     let election = simba.election("dispatcher")?.start(&dispatcher).await?;
//!
//!     let term = simba.lock("invoice-42")?.acquire(Duration::from_secs(5)).await?;
//!     term.ensure_valid(Duration::from_secs(2))?;
//!     term.release().await?;
//!
//!     election.stop().await;
//!     simba.close().await?;
//!     Ok(())
//! }
//! ```
//!
//! # Who supervises whom
//!
//! ```text
//! your threads                      │ Simba's thread, one for each Simba
//!                                   │
//! your actors ◄── Elected, Revoked ─┼── ElectionActor ─┐
//! Election, Job ── stop, step down ─┼──►               ├── SessionActor
//! Lock, LockTerm ── acquire, drop ──┼──► LockActor ────┘        │ Acquire, Release,
//!                                   │                           ▼ StandDown, HandOver
//!                                   │                     BackendActor
//! Term::is_valid ◄── one atomic ────┼─────────────────────── Keeper ── Engine (pure)
//!                                   │                           │
//!                                   │                     LeaseBackend ── your storage
//! ```
//!
//! `SessionActor` is the parent of one `ElectionActor` for each election and one `LockActor` for each lock
//! in use. A child that panics is built anew by its parent's factory and finds its term in the engine.
//! No user code runs on Simba's thread: a handler that sleeps for an hour does not cost the session.

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
pub use term::{Step, Term, TermError};

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
