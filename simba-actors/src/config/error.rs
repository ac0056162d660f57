//! Why a configuration cannot work, and what to do.

use std::time::Duration;

/// Says which durations do not fit together, and what to change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The lease is too short for a network or too long for a failover.
    #[error("lease of {lease:?} is out of range: choose between {least:?} and {most:?}")]
    #[non_exhaustive]
    Lease {
        /// What was asked for.
        lease: Duration,
        /// The shortest lease.
        least: Duration,
        /// The longest lease.
        most: Duration,
    },
    /// The drift is no share that a clock can be wrong by.
    #[error("drift of {drift} is out of range: choose at least 0 and less than 0.5 (0.01 is one percent)")]
    #[non_exhaustive]
    Drift {
        /// What was asked for.
        drift: f64,
    },
    /// A duration is zero, or shorter than timers can tell.
    #[error("{what} of {given:?} is too short: choose at least {least:?}, or leave it out for its default")]
    #[non_exhaustive]
    TooShort {
        /// The builder method.
        what: &'static str,
        /// What was asked for.
        given: Duration,
        /// The shortest that works.
        least: Duration,
    },
    /// One lost keep-alive would cost the session.
    #[error(
        "two renews of {renew:?} do not fit into a lease of {lease:?}: \
         choose renew of at most {:?}, or lease of at least {:?}", *lease / 2, *renew * 2
    )]
    #[non_exhaustive]
    Renew {
        /// The lease.
        lease: Duration,
        /// The renew interval that is too long for it.
        renew: Duration,
    },
    /// Terms would end before the next keep-alive is sent.
    #[error(
        "a lease of {lease:?} less drift {drift} and margin {margin:?} leaves {left:?}, \
         and the next keep-alive is sent after {renew:?}: choose a longer lease, or a shorter renew or margin"
    )]
    #[non_exhaustive]
    NothingLeft {
        /// The lease.
        lease: Duration,
        /// The drift.
        drift: f64,
        /// The margin.
        margin: Duration,
        /// What is left of the lease.
        left: Duration,
        /// The renew interval that is too long for it.
        renew: Duration,
    },
    /// A duration is longer than the one that bounds it.
    #[error("{what} of {given:?} is too long: choose at most {most:?}, the {bound}")]
    #[non_exhaustive]
    TooLong {
        /// The builder method.
        what: &'static str,
        /// What was asked for.
        given: Duration,
        /// The name of what bounds it.
        bound: &'static str,
        /// Its value.
        most: Duration,
    },
    /// The metadata cannot be stored.
    #[error("the metadata is refused: {0}")]
    Metadata(String),
}
