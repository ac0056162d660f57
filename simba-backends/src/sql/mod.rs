//! What the SQL storages share: how columns are read, how time is counted, when a purge is due, who wants hints,
//! and how a message travels to a server.

mod chunks;
mod column;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod connections;
#[cfg(any(feature = "sqlite", feature = "mysql"))]
mod hints;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod literal;
mod purge;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod server;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod settle;
mod time;

#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use chunks::CHUNK;
#[cfg(any(feature = "sqlite", feature = "mysql"))]
pub(crate) use chunks::acquire_in_chunks;
pub(crate) use chunks::release_in_chunks;
pub(crate) use column::{corrupt, integer, metadata, session, text, token};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use connections::Connections;
#[cfg(any(feature = "sqlite", feature = "mysql"))]
pub(crate) use hints::{Freed, FreedNames, Hints, Wanted, Watcher, paced};
#[cfg(feature = "postgres")]
pub(crate) use literal::Literal;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use literal::literal;
pub(crate) use purge::PurgeTimer;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use server::{Answer, Driver, Failure, Server};
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(crate) use settle::{Seen, settle};
pub(crate) use time::{left, millis, span};
