//! The Redis backend keeps the contract with a Redis Cluster.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

mod clocks;
mod failover;
mod index;
mod migration;
mod parts;
#[allow(dead_code, reason = "the tests of other storages use the rest")]
#[path = "../postgres/peer.rs"]
mod peer;
mod places;
#[path = "../processes/mod.rs"]
mod processes;
#[allow(dead_code, reason = "the other deployments use the rest")]
#[path = "../redis_kit/mod.rs"]
mod redis_kit;
mod rights;
#[path = "../rival/mod.rs"]
mod rival;
mod traffic;

use redis_kit::{fixture, fixture::Server, ways::Clustered};

/// What the other process is given.
type Storage = Server<Clustered>;

simba_tck::certify!(redis_cluster, Storage);
