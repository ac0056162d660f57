//! The MySQL backend keeps the contract in MariaDB.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

#[macro_use]
#[path = "../races/mod.rs"]
mod races;

#[path = "../mysql/fixture.rs"]
mod fixture;
#[allow(dead_code, reason = "the tests of other storages use the rest")]
#[path = "../postgres/peer.rs"]
mod peer;
#[path = "../processes/mod.rs"]
mod processes;
#[path = "../rival/mod.rs"]
mod rival;
#[path = "../mysql/situations/mod.rs"]
mod situations;

use fixture::Server;
use simba_servers::Flavour;

/// What the other process is given.
type Storage = Server;

const FLAVOUR: Flavour = Flavour::MariaDb;

simba_tck::certify!(mariadb, Server);
