//! The Redis backend keeps the contract with the master that Sentinels name.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

mod failover;
#[allow(dead_code, reason = "the tests of other storages use the rest")]
#[path = "../postgres/peer.rs"]
mod peer;
#[path = "../processes/mod.rs"]
mod processes;
#[allow(dead_code, reason = "the other deployments use the rest")]
#[path = "../redis_kit/mod.rs"]
mod redis_kit;
#[path = "../rival/mod.rs"]
mod rival;

use redis_kit::{fixture, fixture::Server, ways::Watched};

/// What the other process is given.
type Storage = Server<Watched>;

simba_tck::certify!(redis_sentinel, Storage);
