//! The PostgreSQL backend keeps the contract through PgBouncer in transaction mode.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

#[path = "../postgres/fixture.rs"]
mod fixture;
#[path = "../processes/mod.rs"]
mod processes;
#[path = "../rival/mod.rs"]
mod rival;

use fixture::{Bounced, Server};
/// What the other process is given.
type Storage = Server<Bounced>;

simba_tck::certify!(pgbouncer, Server<Bounced>);
