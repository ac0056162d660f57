//! The ZooKeeper backend keeps the contract.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

mod hints;
#[allow(dead_code, reason = "the tests of other storages use the rest")]
#[path = "../postgres/peer.rs"]
mod peer;
