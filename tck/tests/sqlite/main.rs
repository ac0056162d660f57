//! The SQLite backend keeps the contract, also from two processes of one file.

<<<<<<< HEAD
=======
#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

>>>>>>> 98b7dd6a5b209949505f202616028740fc176eb1
mod fixture;
mod processes;
mod rival;

use fixture::Sqlite;

simba_tck::certify!(sqlite, Sqlite);
