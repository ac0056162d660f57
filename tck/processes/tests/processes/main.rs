//! Several processes on one SQLite file, killed, stopped and started anew.
//!
//! They take real time and all of the machine; `.config/nextest.toml` runs them one by one.

mod chaos;
mod crew;
mod dice;
mod failover;
mod figures;
mod locks;
mod scratch;
mod stopped;
mod storages;
mod testimony;
