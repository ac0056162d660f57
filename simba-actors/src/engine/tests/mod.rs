//! Situations: one file per theme, each test named after the rule it holds and what happens.
//!
//! A [`Bench`] plays the keeper, the actors and the storage of one engine. Each of its verbs is one step
//! and tells its effects as short lines (see [`told`]), so that a test reads like a log. Times are
//! milliseconds. With [`TIMING`], an answer that leaves the full lease vouches for 14,800 of them.

mod bench;
mod calls;
mod closing;
mod errors;
mod ownership;
mod pace;
mod sessions;
mod settling;
mod terms;
mod told;

use std::time::Duration;

use simba_backends::{Acquisition, BackendError, ErrorKind, LeaseName, Outcome, SessionId, Token};

use self::bench::Bench;
use super::{Reason, Timing};

const TIMING: Timing = Timing {
    lease: ms(15_000),
    renew: ms(5_000),
    drift_ppm: 10_000,
    margin: ms(50),
    retry_jitter: ms(2_500),
    min_backoff: ms(100),
    call_timeout: ms(2_000),
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn name(name: &str) -> LeaseName {
    name.parse().unwrap()
}

fn token(number: u64) -> Token {
    Token::new(number).unwrap()
}

fn session(number: u64) -> SessionId {
    format!("s{number}").parse().unwrap()
}

fn granted(number: u64) -> Acquisition {
    Acquisition::Granted { token: token(number), remaining: TIMING.lease }
}

fn already(number: u64) -> Acquisition {
    Acquisition::AlreadyOwned { token: token(number), remaining: TIMING.lease }
}

fn held() -> Acquisition {
    Acquisition::Held { free_in: None }
}

fn held_for(millis: u64) -> Acquisition {
    Acquisition::Held { free_in: Some(ms(millis)) }
}

/// Certainly nothing happened.
fn refused() -> BackendError {
    BackendError::new(ErrorKind::Unavailable, Outcome::NotApplied, "connection refused")
}

/// It may have happened, or may yet.
fn lost() -> BackendError {
    BackendError::new(ErrorKind::Unavailable, Outcome::Unknown, "connection reset")
}
