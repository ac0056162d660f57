//! What a backend answers. Durations, never timestamps: no remote time ever meets a local one.

use std::time::Duration;

use crate::{BackendError, GroupName, LeaseName, Metadata, SessionId, Token};

/// A session that was just opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its id, never used before.
    pub session: SessionId,
    /// How long it lives without a keep-alive, counted from no earlier than when the call was sent.
    pub remaining: Duration,
}

/// The answer to a keep-alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    /// The session lives and was renewed.
    Live {
        /// How long it lives without a further keep-alive.
        remaining: Duration,
        /// Exactly what it holds, each with its token.
        owned: Vec<(LeaseName, Token)>,
        /// Names in a part of the storage that did not answer: held or not, nobody knows.
        unknown: Vec<LeaseName>,
        /// The groups it is a member of.
        groups: Vec<GroupName>,
        /// What the storage's clock counted since this session's previous renewal, where it can tell.
        server_elapsed: Option<Duration>,
    },
    /// The session is gone and never comes back.
    Expired,
}

/// The answer to an acquire of several names.
#[derive(Clone, Debug)]
pub enum Acquired {
    /// One answer for each name that was asked for, in any order.
    Answers(Vec<(LeaseName, Acquisition)>),
    /// The asking session has expired; no lease was taken.
    Expired,
}

/// What became of one name.
#[derive(Clone, Debug)]
pub enum Acquisition {
    /// A new term of the asking session.
    Granted {
        /// Its token, greater than every earlier one of this name.
        token: Token,
        /// How long the lease lasts without a keep-alive.
        remaining: Duration,
    },
    /// The asking session already held it; nothing changed.
    AlreadyOwned {
        /// The token of the term that runs.
        token: Token,
        /// How long the lease lasts without a keep-alive.
        remaining: Duration,
    },
    /// Another session holds it.
    Held {
        /// When the holder's lease runs out unless it is kept alive; at most the holder's lease.
        free_in: Option<Duration>,
    },
    /// This name alone failed (a locked row, corrupt data); the others are not affected.
    Failed(BackendError),
}

/// What became of one release.
#[derive(Clone, Debug)]
pub enum Release {
    /// The session does not hold that token of that name, now: released, or it never did.
    Gone,
    /// This name alone failed.
    Failed(BackendError),
}

/// The answer to a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// The session is a member.
    Member,
    /// The session has expired.
    Expired,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The member's session.
    pub session: SessionId,
    /// What that session says about its process.
    pub metadata: Metadata,
}

/// Who holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The holder's session.
    pub session: SessionId,
    /// What that session says about its process.
    pub metadata: Metadata,
    /// The token of the term that runs.
    pub token: Token,
    /// When the holder's lease runs out unless it is kept alive, where the storage knows.
    pub free_in: Option<Duration>,
}
