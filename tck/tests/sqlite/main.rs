//! The SQLite backend keeps the contract, also from two processes of one file.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test panics where it fails, and prints its figures"
)]
#![allow(clippy::wildcard_enum_match_arm, reason = "a check panics on every answer but the expected one")]

mod fixture;
mod processes;
mod rival;

use fixture::Sqlite;

simba_tck::certify!(sqlite, Sqlite);
