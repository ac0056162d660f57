//! What scripts answer, read.

use std::time::Duration;

use redis::Value;

use crate::{BackendError, ErrorKind, Outcome, Token};

/// A text, if it is one.
pub(super) fn text(value: &Value) -> Option<&str> {
    if let Value::SimpleString(text) = value {
        return Some(text);
    }
    let Value::BulkString(bytes) = value else { return None };
    std::str::from_utf8(bytes).ok()
}

/// A text that is a name, a session, a token.
pub(super) fn parsed<T: std::str::FromStr>(value: &Value) -> Option<T> {
    text(value)?.parse().ok()
}

/// A token, which scripts answer as text: their numbers are not exact.
pub(super) fn token(value: &Value) -> Option<Token> {
    parsed::<u64>(value)?.try_into().ok()
}

/// A list, if it is one.
pub(super) fn list(value: &Value) -> Option<&[Value]> {
    let Value::Array(items) = value else { return None };
    Some(items)
}

/// A list of names of some kind, without what is none: nobody but Simba writes these.
pub(super) fn names<T: std::str::FromStr>(value: &Value) -> Option<Vec<T>> {
    Some(list(value)?.iter().filter_map(parsed).collect())
}

/// A span in the storage's milliseconds.
pub(super) fn span(value: &Value) -> Option<Duration> {
    let Value::Int(millis) = value else { return None };
    Some(Duration::from_millis(u64::try_from(*millis).unwrap_or(0)))
}

/// What is left of a lease for its holder. A millisecond less than the clock says: the holder counts from a time
/// that the clock had already passed by a part of one, and cut off.
pub(super) fn left(value: &Value) -> Option<Duration> {
    Some(span(value)?.saturating_sub(Duration::from_millis(1)))
}

/// Whether the session has expired.
pub(super) fn is_expired(value: &Value) -> bool {
    text(value) == Some("expired")
}

/// The error for an answer that no script of ours gives.
pub(super) fn unreadable(place: &str) -> BackendError {
    let message = format!("{place} answered a script with what Simba cannot read");
    BackendError::new(ErrorKind::Unexpected, Outcome::Unknown, message)
}

/// The error for a key that holds what Simba cannot have written; `what` begins with the key.
pub(super) fn corrupt(place: &str, what: &str) -> BackendError {
    let message = format!("{what} on {place}: Simba has not written that; look at the key, then delete it");
    BackendError::new(ErrorKind::Corrupt, Outcome::NotApplied, message)
}
