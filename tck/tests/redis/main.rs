//! The Redis backend keeps the contract with Redis alone.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

#[macro_use]
#[path = "../races/mod.rs"]
mod races;

mod clocks;
mod connections;
mod hints;
mod load;
#[allow(dead_code, reason = "the tests of other storages use the rest")]
#[path = "../postgres/peer.rs"]
mod peer;
#[path = "../processes/mod.rs"]
mod processes;
#[allow(dead_code, reason = "the other deployments use the rest")]
#[path = "../redis_kit/mod.rs"]
mod redis_kit;
mod replicas;
#[path = "../rival/mod.rs"]
mod rival;
mod stopped;
mod subscriptions;
mod tokens;
mod warnings;

use redis_kit::{fixture, fixture::Server, ways::Alone};

/// What the other process is given.
type Storage = Server<Alone>;

simba_tck::certify!(redis, Storage);
