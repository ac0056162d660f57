//! What a fixture can do to its storage, and what it says where it cannot.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use async_trait::async_trait;
use simba_backends::{BackendError, ErrorKind};

/// A power over the storage that some sentences need to show all of their situations.
///
/// Exhaustive on purpose, like [`Outage`]: a power that is new to the suite is one that each fixture has
/// to say something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Power {
    /// [`Fixture::restart`](crate::Fixture::restart)
    Restart,
    /// [`Fixture::hold_session`](crate::Fixture::hold_session)
    HoldSession,
    /// [`Fixture::hold_lease`](crate::Fixture::hold_lease)
    HoldLease,
    /// [`Fixture::corrupt`](crate::Fixture::corrupt)
    Corrupt,
    /// [`Fixture::half_close`](crate::Fixture::half_close)
    HalfClose,
    /// [`Fixture::outage`](crate::Fixture::outage)
    Outage,
    /// [`Fixture::lose_hints`](crate::Fixture::lose_hints)
    LoseHints,
    /// [`Fixture::purge_interval`](crate::Fixture::purge_interval)
    Purge,
    /// [`Fixture::census`](crate::Fixture::census)
    Census,
    /// [`Fixture::calls`](crate::Fixture::calls)
    CountCalls,
    /// [`Fixture::connect_skewed`](crate::Fixture::connect_skewed)
    SkewedClock,
    /// [`Fixture::misuses`](crate::Fixture::misuses)
    Misuse,
    /// [`Fixture::rival`](crate::Fixture::rival)
    Rival,
}

/// A power that a fixture does not have, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    power: Power,
    reason: String,
}

impl Lack {
    /// Says why the power cannot be had.
    pub fn new(power: Power, reason: impl Into<String>) -> Self {
        Self { power, reason: reason.into() }
    }

    /// Enters the lack into the output of the test.
    ///
    /// # Panics
    /// If no reason is given: what is not tested is said in words.
    pub fn declare(&self) {
        assert!(!self.reason.trim().is_empty(), "the fixture lacks {:?} and gives no reason", self.power);
        declare(&self.to_string());
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.power, self.reason)
    }
}

/// Enters into the output of the test what is not tested, and why.
#[expect(clippy::print_stdout, reason = "the output of a test is where its reader looks")]
pub(crate) fn declare(what: &str) {
    println!("not declared: {what}");
}

/// Something that was done to the storage and can be undone.
#[must_use = "a fault lasts until its end is awaited"]
pub struct Fault {
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Fault {
    /// A fault that this future undoes.
    pub fn new(end: impl Future<Output = ()> + Send + 'static) -> Self {
        Self { end: Box::pin(end) }
    }

    /// Undoes it.
    ///
    /// # Cancel safety
    /// Dropping it may leave the fault in place.
    pub async fn end(self) {
        self.end.await;
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault").finish_non_exhaustive()
    }
}

/// How a storage can be out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// Connections are cut and new ones refused.
    Refused,
    /// Connections stay, but nothing is answered.
    BlackHole,
    /// It answers but takes no writes.
    ReadOnly,
    /// Reads are answered, but writes wait for a lock that is not given back.
    Locked,
    /// One part of several (a shard, a slot) does not answer.
    Part,
}

/// What the storage itself counts, seen around the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// Sessions, dead or alive.
    pub sessions: usize,
    /// Memberships, also those of sessions that are gone.
    pub memberships: usize,
    /// Names that have a token.
    pub tokens: usize,
}

/// How far a client's wall clock is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skew {
    /// It shows a later time than the storage's.
    Ahead(Duration),
    /// It shows an earlier time than the storage's.
    Behind(Duration),
}

/// One way to use a storage wrongly, tried out, and what came of it.
#[derive(Clone, Debug)]
pub struct Misuse {
    /// Wrong password, missing tables, ...
    pub situation: &'static str,
    /// What the storage said.
    pub error: BackendError,
    /// The kind of error that fits.
    pub kind: ErrorKind,
    /// What the operator must read in the message: the script to run, the key to look at.
    pub remedy: &'static str,
    /// What nobody may read in it.
    pub secret: Option<String>,
}

/// What a [`Rival`] tries for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contest {
    /// Names that somebody else holds: each try is refused.
    Held,
    /// Names that nobody holds: it acquires and releases them in turn.
    Free,
}

/// Another process that acquires (and releases what it got) without a pause.
#[async_trait]
pub trait Rival: Send {
    /// Stops it where it stands (SIGSTOP).
    async fn stop(&mut self);
    /// Lets it go on (SIGCONT).
    async fn resume(&mut self);
    /// Ends it where it stands (SIGKILL).
    async fn kill(&mut self);
}
