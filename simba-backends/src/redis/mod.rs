//! The storage in Redis 7 or newer: one server, the master that Sentinels name, or a cluster.

mod error;
mod key;
mod location;
mod node;
mod one;
mod script;
mod sentinel;
