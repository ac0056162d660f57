//! What goes wrong between the ZooKeeper backend and the ensemble, and what must hold all the same.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

mod flaps;
mod futures;
mod kit;
mod late_releases;
mod load;
mod lost_replies;
mod order;
#[allow(dead_code, reason = "the tests of other storages use the rest")]
#[path = "../postgres/peer.rs"]
mod peer;
mod quorum;
mod restarts;
mod timeouts;
mod vanished;
mod watched;
