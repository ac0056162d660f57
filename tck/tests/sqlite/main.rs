//! The SQLite backend keeps the contract, also from two processes of one file.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

mod fixture;
mod processes;
mod rival;

use fixture::Sqlite;

simba_tck::certify!(sqlite, Sqlite);
