//! The SQLite backend keeps the contract, also from two processes of one file.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

mod fixture;
#[path = "../processes/mod.rs"]
mod processes;
#[path = "../rival/mod.rs"]
mod rival;

use fixture::Sqlite;
/// What the other process is given.
use fixture::Sqlite as Storage;

simba_tck::certify!(sqlite, Sqlite);
