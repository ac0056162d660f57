//! The PostgreSQL backend keeps the contract.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

mod fixture;
mod isolation;
mod locks;
mod peer;
#[path = "../rival/mod.rs"]
mod rival;

use fixture::Server;
/// What the other process is given.
type Storage = Server;

simba_tck::certify!(postgres, Server);
