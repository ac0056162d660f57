//! Several processes on one storage, killed, stopped and started anew.
//!
//! They take real time and all of the machine; `.config/nextest.toml` runs them one by one.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test prints its figures and what it leaves")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a check panics on every record but the expected one")]

mod chaos;
mod clocks;
mod cluster;
mod crew;
mod cut_off;
mod dice;
mod disturbed;
mod ensemble;
mod failover;
mod figures;
mod hand_over;
mod herd;
mod locks;
mod mended;
mod outages;
mod regression;
mod scene;
mod scratch;
mod sentinels;
mod stopped;
mod storage;
mod storages;
mod testimony;
mod turns;
