//! The storage in Redis 7 or newer: one server, the master that Sentinels name, or a cluster.

mod cluster;
mod error;
mod key;
mod node;
mod script;
