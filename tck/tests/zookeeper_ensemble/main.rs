//! The ZooKeeper backend keeps the contract with an ensemble of three.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

#[path = "../processes/mod.rs"]
mod processes;
#[path = "../rival/mod.rs"]
mod rival;
#[allow(dead_code, reason = "the other deployment uses the rest")]
#[path = "../zookeeper_kit/mod.rs"]
mod zookeeper_kit;

use zookeeper_kit::{fixture, fixture::Server, ways::Ensemble};

/// What the other process is given.
type Storage = Server<Ensemble>;

simba_tck::certify!(zookeeper_ensemble, Storage);
