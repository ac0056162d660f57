//! What the SQL storages share: how columns are read, how time is counted, when a purge is due, and how a
//! message travels to a server.

mod column;
mod purge;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server;
mod time;

pub(crate) use column::{corrupt, integer, metadata, session, text, token};
pub(crate) use purge::PurgeTimer;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use server::{Answer, Driver, Ownership, Server};
pub(crate) use time::{left, millis, span};
