//! The SQLite backend keeps the contract, also from two processes of one file.

mod fixture;
mod processes;
mod rival;

use fixture::Sqlite;

simba_tck::certify!(sqlite, Sqlite);
