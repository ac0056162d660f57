//! The MySQL backend keeps the contract in MySQL.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

#[macro_use]
#[path = "../races/mod.rs"]
mod races;

mod fixture;
#[allow(dead_code, reason = "the tests of other storages use the rest")]
#[path = "../postgres/peer.rs"]
mod peer;
#[path = "../processes/mod.rs"]
mod processes;
#[path = "../rival/mod.rs"]
mod rival;
mod situations;

use fixture::Server;
use simba_servers::Flavour;

/// What the other process is given.
type Storage = Server;

const FLAVOUR: Flavour = Flavour::MySql;

simba_tck::certify!(mysql, Server);
