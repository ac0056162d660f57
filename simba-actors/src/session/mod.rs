//! The session of one Simba: the parent of elections and locks.

mod actor;
mod messages;

pub(crate) use actor::{Children, SessionActor};
pub(crate) use messages::{
    CloseSession, ClosedReport, ElectionEnded, LockIdle, SessionNews, SimbaClosed, StartElection,
};
pub use messages::{StartError, Use};
