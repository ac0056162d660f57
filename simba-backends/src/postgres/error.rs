//! What PostgreSQL's and PgBouncer's errors mean to a caller.

use crate::{BackendError, ErrorKind, Outcome};

/// The script that an operator runs where tables are missing.
pub(super) const SCRIPT: &str = "sql/init-simba-postgresql.sql";

pub(super) const SERIALIZATION_FAILURE: &str = "40001";
pub(super) const DEADLOCK: &str = "40P01";
const LOCK_NOT_AVAILABLE: &str = "55P03";
const POOLER: &str = "08P01";

/// Raised by a message's own prelude, a division by zero.
const IN_TRANSACTION: &str = "22012";

type Meaning = (ErrorKind, Outcome, String);

/// What a driver's error means.
///
/// An error of a statement undoes the transaction that it is in. What comes after the `commit` of a message is
/// a plain read, and fails only together with the connection.
pub(super) fn of(place: &str, error: sqlx::Error) -> BackendError {
    let (kind, outcome, message) = match error.as_database_error() {
        Some(found) => coded(place, found.code().as_deref().unwrap_or_default(), found.message()),
        None => uncoded(place, &error),
    };
    BackendError::new(kind, outcome, message).with_source(error)
}

/// Whether the call waited in vain for a lock that somebody holds.
pub(super) fn is_locked(error: &BackendError) -> bool {
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<sqlx::Error>());
    let code = source.and_then(|error| error.as_database_error()?.code());
    code.as_deref() == Some(LOCK_NOT_AVAILABLE)
}

fn coded(place: &str, code: &str, said: &str) -> Meaning {
    access(place, code, said)
        .or_else(|| content(place, code, said))
        .or_else(|| service(place, code, said))
        .unwrap_or_else(|| {
            let message = format!("{place} refused a statement with SQLSTATE {code}: {said}");
            (ErrorKind::Unexpected, Outcome::NotApplied, message)
        })
}

/// The codes that say that this client is not let in, or not let do it.
fn access(place: &str, code: &str, said: &str) -> Option<Meaning> {
    let (kind, message) = match code {
        "28P01" | "28000" => (
            ErrorKind::Unauthorized,
            format!("{place} does not let us in ({said}): check user, password and the server's pg_hba.conf"),
        ),
        "3D000" => (
            ErrorKind::Config,
            format!("{place} has no such database ({said}): create it or correct the URL"),
        ),
        "42501" => (
            ErrorKind::Unauthorized,
            format!(
                "a permission is missing on {place} ({said}): grant select, insert, update and delete on \
                 simba_session, simba_lease and simba_member; whoever makes them needs create on the schema"
            ),
        ),
        IN_TRANSACTION => (
            ErrorKind::Unavailable,
            format!(
                "a connection of the pool for {place} is in the middle of a transaction, and is closed: end \
                 transactions before giving a connection back"
            ),
        ),
        "25006" => (
            ErrorKind::ReadOnly,
            format!("{place} takes no writes ({said}): name the primary, or end its read-only mode"),
        ),
        POOLER => return of_pooler(place, said),
        _ => return None,
    };
    Some((kind, Outcome::NotApplied, message))
}

/// PgBouncer has one code for all that it says itself.
fn of_pooler(place: &str, said: &str) -> Option<Meaning> {
    let has = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    let (kind, message) = if has(&["authentication failed", "no such user", "password"]) {
        let what = "check user and password, also in the pooler's auth_file";
        (ErrorKind::Unauthorized, format!("{place} does not let us in ({said}): {what}"))
    } else if has(&["startup parameter"]) {
        let what = "add the parameter to its ignore_startup_parameters";
        (ErrorKind::Config, format!("{place} is a pooler that refuses the driver ({said}): {what}"))
    } else if has(&["no such database", "does not exist"]) {
        let what = "create it or correct the URL";
        (ErrorKind::Config, format!("{place} has no such database ({said}): {what}"))
    } else {
        return None;
    };
    Some((kind, Outcome::NotApplied, message))
}

/// The codes that say that the database is not as Simba made it.
fn content(place: &str, code: &str, said: &str) -> Option<Meaning> {
    let (kind, message) = match code {
        "42P01" | "3F000" => (
            ErrorKind::Schema,
            format!("{place} has no tables of Simba ({said}): run {SCRIPT} there, or check the search_path"),
        ),
        "42703" | "42804" | "42883" | "42P10" | "42809" | "42846" | "22P02" | "23502" | "22001" | "23514"
        | "23503" | "23505" | "428C9" => (
            ErrorKind::Schema,
            format!("the tables in {place} are not Simba's ({said}): compare them with {SCRIPT}"),
        ),
        "22P05" | "22021" => (
            ErrorKind::Config,
            format!("{place} cannot store a text ({said}): use a database in the encoding UTF8"),
        ),
        _ => return None,
    };
    Some((kind, Outcome::NotApplied, message))
}

/// The codes that say that the server cannot serve just now.
fn service(place: &str, code: &str, said: &str) -> Option<Meaning> {
    use Outcome::{NotApplied, Unknown};
    let meaning = match (code, code.get(..2).unwrap_or_default()) {
        (LOCK_NOT_AVAILABLE, _) => (
            ErrorKind::Timeout,
            NotApplied,
            format!("a lock on a row or table of Simba in {place} is held by somebody else ({said})"),
        ),
        ("57014", _) => (ErrorKind::Timeout, NotApplied, format!("{place} took too long ({said})")),
        (SERIALIZATION_FAILURE | DEADLOCK, _) => (
            ErrorKind::Unavailable,
            NotApplied,
            format!("{place} undid the call each time, for the sake of another ({said})"),
        ),
        ("57P03" | "53300", _) => {
            (ErrorKind::Unavailable, NotApplied, format!("{place} takes no connection for now: {said}"))
        }
        (_, "57" | "08" | "XX" | "58" | "53") => {
            (ErrorKind::Unavailable, Unknown, format!("{place} is out of service: {said}"))
        }
        _ => return None,
    };
    Some(meaning)
}

fn uncoded(place: &str, error: &sqlx::Error) -> Meaning {
    use Outcome::{NotApplied, Unknown};
    if matches!(error, sqlx::Error::Tls(_)) {
        let what = "set up the server's, or choose another sslmode in the URL";
        return (ErrorKind::Config, NotApplied, format!("no TLS with {place} ({error}): {what}"));
    }
    if matches!(error, sqlx::Error::PoolClosed) {
        return (ErrorKind::Config, NotApplied, format!("the pool for {place} was closed: keep it open"));
    }
    if matches!(error, sqlx::Error::Configuration(_)) {
        return (ErrorKind::Config, NotApplied, format!("{place} cannot be connected to: {error}"));
    }
    if matches!(error, sqlx::Error::Io(_)) {
        return (ErrorKind::Unavailable, Unknown, format!("no connection to {place}: {error}"));
    }
    (ErrorKind::Unexpected, Unknown, format!("the exchange with {place} failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_kind_and_an_outcome_that_a_caller_can_act_on() {
        use Outcome::{NotApplied, Unknown};
        let cases = [
            ("28P01", ErrorKind::Unauthorized, NotApplied, "password"),
            ("3D000", ErrorKind::Config, NotApplied, "create it"),
            ("42501", ErrorKind::Unauthorized, NotApplied, "grant"),
            ("25006", ErrorKind::ReadOnly, NotApplied, "primary"),
            ("42P01", ErrorKind::Schema, NotApplied, SCRIPT),
            ("42883", ErrorKind::Schema, NotApplied, SCRIPT),
            ("42703", ErrorKind::Schema, NotApplied, SCRIPT),
            ("55P03", ErrorKind::Timeout, NotApplied, "lock"),
            ("57014", ErrorKind::Timeout, NotApplied, "too long"),
            ("57P01", ErrorKind::Unavailable, Unknown, "said"),
            ("57P03", ErrorKind::Unavailable, NotApplied, "no connection"),
            ("53300", ErrorKind::Unavailable, NotApplied, "no connection"),
            ("08006", ErrorKind::Unavailable, Unknown, "out of service"),
            ("40P01", ErrorKind::Unavailable, NotApplied, "another"),
            ("22P05", ErrorKind::Config, NotApplied, "UTF8"),
            ("12345", ErrorKind::Unexpected, NotApplied, "12345"),
            ("", ErrorKind::Unexpected, NotApplied, "said"),
        ];
        for (code, kind, outcome, part) in cases {
            let found = coded("postgres://db:5432/x", code, "said");
            assert_eq!((found.0, found.1), (kind, outcome), "{code}");
            assert!(found.2.contains(part) && found.2.contains("db:5432"), "{code}: {}", found.2);
        }
    }
}
