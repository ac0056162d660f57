//! Why a term was not valid for long enough.

use std::time::Duration;

use simba_backends::{LeaseName, Token};

use crate::engine::Reason;

/// Says that a term is not valid for as long as was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TermError {
    /// The term has ended: stop the work.
    #[error("term of {name} with token {token} has ended: {reason}; {needed:?} were needed")]
    #[non_exhaustive]
    Ended {
        /// The name of the lease.
        name: LeaseName,
        /// The token of the term.
        token: Token,
        /// Why it ended.
        reason: Reason,
        /// For how long it had to be valid.
        needed: Duration,
    },
    /// The term is valid, but ends too soon unless it is extended: wait for the next keep-alive, or do less
    /// at once.
    #[error("term of {name} with token {token} is valid for {left:?}; {needed:?} were needed")]
    #[non_exhaustive]
    TooShort {
        /// The name of the lease.
        name: LeaseName,
        /// The token of the term.
        token: Token,
        /// For how long it is valid.
        left: Duration,
        /// For how long it had to be valid.
        needed: Duration,
    },
}
