//! The ZooKeeper backend keeps the contract with one server.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

#[macro_use]
#[path = "../races/mod.rs"]
mod races;

mod client;
mod errors;
mod hints;
mod layout;
mod log;
#[allow(dead_code, reason = "the tests of other storages use the rest")]
#[path = "../postgres/peer.rs"]
mod peer;
#[path = "../processes/mod.rs"]
mod processes;
#[path = "../rival/mod.rs"]
mod rival;
mod security;
mod silence;
#[allow(dead_code, reason = "the other deployment uses the rest")]
#[path = "../zookeeper_kit/mod.rs"]
mod zookeeper_kit;

use zookeeper_kit::{
    fixture,
    fixture::{Server, Writing},
    ways::Alone,
};

/// What the other process is given.
type Storage = Server<Alone>;

simba_tck::certify!(zookeeper, Storage);

all_races!(written_keep_alives, Server<Alone, Writing>);
