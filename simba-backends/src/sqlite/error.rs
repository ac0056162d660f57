//! What SQLite's result codes mean to a caller.

use super::database::Database;
use crate::{BackendError, ErrorKind, Outcome};

/// The script that an operator runs where tables are missing.
const SCRIPT: &str = "sql/init-simba-sqlite.sql";

/// The primary result codes (the low byte of every code).
mod code {
    pub(super) const ERROR: i32 = 1;
    pub(super) const PERM: i32 = 3;
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const NOMEM: i32 = 7;
    pub(super) const READONLY: i32 = 8;
    pub(super) const IOERR: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const PROTOCOL: i32 = 15;
    pub(super) const SCHEMA: i32 = 17;
    pub(super) const CONSTRAINT: i32 = 19;
    pub(super) const MISMATCH: i32 = 20;
    pub(super) const AUTH: i32 = 23;
    pub(super) const NOTADB: i32 = 26;
    /// Extended: the file was moved or deleted while it was open.
    pub(super) const READONLY_DBMOVED: i32 = 8 | (4 << 8);
}

/// What a driver's error means. The connection it came from must not be used again: a message that failed
/// half-way has left its transaction open.
pub(super) fn of(database: &Database, error: sqlx::Error) -> BackendError {
    let path = database.path().display().to_string();
    let (kind, outcome, message) = match error.as_database_error() {
        Some(found) => {
            let code = found.code().and_then(|code| code.parse().ok()).unwrap_or_default();
            coded(&path, code, found.message())
        }
        None => uncoded(&path, &error),
    };
    BackendError::new(kind, outcome, message).with_source(error)
}

type Meaning = (ErrorKind, Outcome, String);

fn coded(path: &str, code: i32, said: &str) -> Meaning {
    access(path, code).or_else(|| content(path, code, said)).unwrap_or_else(|| {
        (ErrorKind::Unexpected, Outcome::Unknown, format!("sqlite failed on {path}: {said}"))
    })
}

/// The codes that say that the file cannot be used now, and nothing was done.
fn access(path: &str, code: i32) -> Option<Meaning> {
    let (kind, message) = match (code, code & 0xff) {
        (code::READONLY_DBMOVED, _) => {
            (ErrorKind::Unavailable, format!("the sqlite file {path} was moved or deleted"))
        }
        (_, code::BUSY | code::LOCKED | code::PROTOCOL) => (
            ErrorKind::Timeout,
            format!(
                "the sqlite file {path} is locked beyond the busy timeout: find the process that holds it (a write \
                 transaction that was left open, a stopped process) and end it"
            ),
        ),
        (_, code::READONLY) => (
            ErrorKind::ReadOnly,
            format!("the sqlite file {path} is read-only: make it and its directory writable"),
        ),
        (_, code::FULL) => {
            (ErrorKind::Unavailable, format!("disk full: make room for the sqlite file {path}"))
        }
        (_, code::CANTOPEN) => (
            ErrorKind::Unavailable,
            format!("cannot open the sqlite file {path}: check that its directory exists and is writable"),
        ),
        (_, code::PERM | code::AUTH) => (
            ErrorKind::Unauthorized,
            format!("no permission for the sqlite file {path}: give this process's user access"),
        ),
        _ => return None,
    };
    Some((kind, Outcome::NotApplied, message))
}

/// The codes that say that the file is not as it should be.
fn content(path: &str, code: i32, said: &str) -> Option<Meaning> {
    use Outcome::{NotApplied, Unknown};
    let meaning = match code & 0xff {
        code::NOTADB => (
            ErrorKind::Schema,
            NotApplied,
            format!("{path} is no SQLite database: name another file or remove this one"),
        ),
        code::CORRUPT => (
            ErrorKind::Corrupt,
            Unknown,
            format!("the sqlite file {path} is damaged ({said}): restore or remove it"),
        ),
        code::ERROR | code::SCHEMA if is_about_tables(said) => (
            ErrorKind::Schema,
            NotApplied,
            format!("the tables in {path} are not Simba's ({said}): compare them with {SCRIPT}"),
        ),
        code::CONSTRAINT | code::MISMATCH => (
            ErrorKind::Schema,
            NotApplied,
            format!("a table in {path} refuses what Simba writes ({said}): compare it with {SCRIPT}"),
        ),
        code::IOERR | code::NOMEM => (
            ErrorKind::Unavailable,
            Unknown,
            format!("the sqlite file {path} cannot be read or written: {said}"),
        ),
        _ => return None,
    };
    Some(meaning)
}

fn is_about_tables(said: &str) -> bool {
    [
        "no such table",
        "no such column",
        "has no column",
        "ON CONFLICT",
        "is a view",
        "views may not",
        "already an index",
    ]
    .iter()
    .any(|part| said.contains(part))
}

fn uncoded(path: &str, error: &sqlx::Error) -> Meaning {
    if let sqlx::Error::ColumnDecode { index, .. } = error {
        let message = format!("a value in column {index} in {path} is not what Simba writes");
        return (ErrorKind::Corrupt, Outcome::Unknown, message);
    }
    (ErrorKind::Unavailable, Outcome::Unknown, format!("the connection to the sqlite file {path} failed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_kind_and_an_outcome_that_a_caller_can_act_on() {
        let cases = [
            (5, ErrorKind::Timeout, Outcome::NotApplied, "locked"),
            (517, ErrorKind::Timeout, Outcome::NotApplied, "locked"),
            (8, ErrorKind::ReadOnly, Outcome::NotApplied, "writable"),
            (1544, ErrorKind::ReadOnly, Outcome::NotApplied, "writable"),
            (1032, ErrorKind::Unavailable, Outcome::NotApplied, "moved"),
            (13, ErrorKind::Unavailable, Outcome::NotApplied, "disk full"),
            (14, ErrorKind::Unavailable, Outcome::NotApplied, "directory"),
            (778, ErrorKind::Unavailable, Outcome::Unknown, "written"),
            (11, ErrorKind::Corrupt, Outcome::Unknown, "damaged"),
            (26, ErrorKind::Schema, Outcome::NotApplied, "no SQLite database"),
            (3091, ErrorKind::Schema, Outcome::NotApplied, SCRIPT),
            (21, ErrorKind::Unexpected, Outcome::Unknown, "failed"),
        ];
        for (code, kind, outcome, part) in cases {
            let found = coded("/a/b.db", code, "said");
            assert_eq!((found.0, found.1), (kind, outcome), "{code}");
            assert!(found.2.contains(part) && found.2.contains("/a/b.db"), "{code}: {}", found.2);
        }
    }
}
