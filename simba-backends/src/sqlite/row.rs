//! Reading columns without trusting them: whoever can write the file may have written anything.

use std::time::Duration;

use sqlx::{Row, sqlite::SqliteRow};

use super::error;
use crate::{BackendError, Metadata, SessionId, Token};

/// No lease is longer, so that adding one to the time cannot leave SQLite's integers.
const LONGEST: i64 = 100 * 366 * 24 * 3600 * 1000;

/// The text of a column, or `None` where it is null or no text.
pub(super) fn text(row: &SqliteRow, column: &str) -> Option<String> {
    row.try_get_unchecked(column).ok().flatten()
}

/// The number of a column, or `None` where it is null. What is no number reads as 0.
pub(super) fn integer(row: &SqliteRow, column: &str) -> Option<i64> {
    row.try_get_unchecked(column).ok().flatten()
}

/// The token of a column, or `None` where it is none.
pub(super) fn token(row: &SqliteRow, column: &str) -> Option<Token> {
    integer(row, column).and_then(|number| Token::new(u64::try_from(number).ok()?))
}

pub(super) fn session(text: &str, table: &str, key: &str) -> Result<SessionId, BackendError> {
    text.parse().map_err(|error| error::corrupt(table, key, "its session_id is malformed").with_source(error))
}

pub(super) fn metadata(text: Option<String>, session: &SessionId) -> Result<Metadata, BackendError> {
    let found = Metadata::try_from(text.unwrap_or_default());
    found.map_err(|error| {
        error::corrupt("simba_session", session.as_str(), "its metadata is malformed").with_source(error)
    })
}

/// A lease in the storage's milliseconds.
pub(super) fn millis(lease: Duration) -> Result<i64, BackendError> {
    match i64::try_from(lease.as_millis()).unwrap_or(LONGEST).min(LONGEST) {
        0 | 1 => {
            Err(BackendError::config("a sqlite storage counts in milliseconds: a lease is at least 2 ms"))
        }
        millis => Ok(millis),
    }
}

/// What is left of a lease for its holder. A millisecond less than the clocks say: the holder counts from a
/// time that the storage's clock had already passed by a part of one, and cut off.
pub(super) fn left(expires_at: i64, now: i64) -> Duration {
    span(expires_at, now).saturating_sub(Duration::from_millis(1))
}

/// A difference of two of the storage's times; nothing where the second is the later one.
pub(super) fn span(later: i64, earlier: i64) -> Duration {
    Duration::from_millis(u64::try_from(later.saturating_sub(earlier)).unwrap_or(0))
}
