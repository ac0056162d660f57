//! The PostgreSQL backend keeps the contract.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

#[macro_use]
#[path = "../races/mod.rs"]
mod races;

mod clocks;
mod fixture;
mod futures;
mod hints;
mod isolation;
mod load;
mod locks;
mod peer;
mod pool;
mod pooler;
#[path = "../processes/mod.rs"]
mod processes;
#[path = "../rival/mod.rs"]
mod rival;
mod standby;
mod stopped;
mod tables;

use fixture::Server;
/// What the other process is given.
type Storage = Server;

simba_tck::certify!(postgres, Server);
