//! What the errors of MySQL and MariaDB mean to a caller.

use sqlx::mysql::MySqlDatabaseError;

use crate::{BackendError, ErrorKind, Outcome};

/// The script that an operator runs where tables are missing.
pub(super) const SCRIPT: &str = "sql/init-simba-mysql.sql";

pub(super) const DEADLOCK: u16 = 1213;
/// MariaDB 11: a row is newer than the transaction.
pub(super) const RECORD_CHANGED: u16 = 1020;

type Meaning = (ErrorKind, Outcome, String);

/// The number of a server's error.
pub(super) fn number(error: &sqlx::Error) -> Option<u16> {
    found(error).map(MySqlDatabaseError::number)
}

fn found(error: &sqlx::Error) -> Option<&MySqlDatabaseError> {
    error.as_database_error().and_then(|error| error.try_downcast_ref())
}

/// What a driver's error means for the statement that it ended.
pub(super) fn of(place: &str, error: sqlx::Error) -> BackendError {
    let (kind, outcome, message) = match found(&error) {
        Some(found) => coded(place, found.number(), found.message()),
        None => uncoded(place, &error),
    };
    BackendError::new(kind, outcome, message).with_source(error)
}

fn coded(place: &str, number: u16, said: &str) -> Meaning {
    access(place, number, said)
        .or_else(|| content(place, number, said))
        .or_else(|| service(place, number, said))
        .unwrap_or_else(|| {
            let message = format!("{place} refused a statement with error {number}: {said}");
            (ErrorKind::Unexpected, Outcome::Unknown, message)
        })
}

/// The codes that say that this client is not let in, or not let do it.
fn access(place: &str, number: u16, said: &str) -> Option<Meaning> {
    let (kind, message) = match number {
        1045 | 1130 | 1251 | 1698 | 1820 | 1862 | 3118 | 3159 | 4151 => (
            ErrorKind::Unauthorized,
            format!(
                "{place} does not let us in ({said}): check user, password and what the server asks of them"
            ),
        ),
        1044 | 1142 | 1143 | 1227 | 1370 => (
            ErrorKind::Unauthorized,
            format!("a permission is missing on {place} ({said}): grant select, insert, update and delete"),
        ),
        1046 | 1049 => (
            ErrorKind::Config,
            format!("{place} has no such database ({said}): create it or correct the URL"),
        ),
        1153 => (ErrorKind::Config, format!("max_allowed_packet of {place} is too small ({said}): raise it")),
        1665 => (
            ErrorKind::Config,
            format!("{place} logs statements ({said}): set its binlog_format to row or mixed"),
        ),
        1290 | 1792 | 1836 | 1874 => (
            ErrorKind::ReadOnly,
            format!("{place} takes no writes ({said}): name the primary, or end its read-only mode"),
        ),
        _ => return None,
    };
    Some((kind, Outcome::NotApplied, message))
}

/// The codes that say that the tables are not as Simba's script makes them.
fn content(place: &str, number: u16, said: &str) -> Option<Meaning> {
    let message = match number {
        1054 | 1109 | 1146 | 1347 | 1356 => {
            format!("the tables on {place} are not Simba's ({said}): run {SCRIPT}, or compare them with it")
        }
        1048 | 1062 | 1136 | 1264 | 1265 | 1292 | 1364 | 1366 | 1406 | 1451 | 1452 | 3819 | 4025 => {
            format!("a table on {place} refuses what Simba writes ({said}): compare it with {SCRIPT}")
        }
        _ => return None,
    };
    Some((ErrorKind::Schema, Outcome::NotApplied, message))
}

/// The codes that say that the server does not serve for now, or not this.
fn service(place: &str, number: u16, said: &str) -> Option<Meaning> {
    use Outcome::{NotApplied, Unknown};
    let meaning = match number {
        1205 => (
            ErrorKind::Timeout,
            NotApplied,
            format!(
                "a lock on {place} was waited for in vain ({said}): find the transaction that holds it \
                 (information_schema.innodb_trx) and end it"
            ),
        ),
        // It was tried again and again, and what came before it may be done.
        DEADLOCK | RECORD_CHANGED => (
            ErrorKind::Unavailable,
            Unknown,
            format!("{place} undid the call each time for the sake of others ({said})"),
        ),
        1317 | 1969 | 3024 => {
            (ErrorKind::Timeout, Unknown, format!("{place} interrupted a statement ({said})"))
        }
        1040 | 1129 | 1203 | 1226 => {
            (ErrorKind::Unavailable, NotApplied, format!("{place} takes no more connections ({said})"))
        }
        1021 | 1026 | 1030 | 1041 | 1114 | 1135 => {
            (ErrorKind::Unavailable, Unknown, format!("{place} lacks room or threads ({said})"))
        }
        1047 | 1053 | 1077 | 1180 | 1181 | 1927 | 3101 | 3168 | 4031 => {
            (ErrorKind::Unavailable, Unknown, format!("{place} does not serve for now ({said})"))
        }
        1064 | 1235 | 1305 => (
            ErrorKind::Unsupported,
            NotApplied,
            format!(
                "{place} does not understand a statement ({said}): Simba needs MySQL 8.0.11 or MariaDB 10.6, or \
                 later, without a proxy that rewrites statements"
            ),
        ),
        _ => return None,
    };
    Some(meaning)
}

fn uncoded(place: &str, error: &sqlx::Error) -> Meaning {
    let distrusts = |error: &std::io::Error| error.kind() == std::io::ErrorKind::InvalidData;
    if matches!(error, sqlx::Error::Tls(_)) || matches!(error, sqlx::Error::Io(error) if distrusts(error)) {
        return no_tls(place, error);
    }
    if matches!(error, sqlx::Error::Configuration(_)) {
        return (
            ErrorKind::Config,
            Outcome::NotApplied,
            format!("the settings for {place} cannot work: {error}"),
        );
    }
    if matches!(error, sqlx::Error::PoolClosed) {
        let message = format!("the application has closed its pool for {place}");
        return (ErrorKind::Unavailable, Outcome::NotApplied, message);
    }
    (ErrorKind::Unavailable, Outcome::Unknown, format!("the connection to {place} failed: {error}"))
}

fn no_tls(place: &str, error: &sqlx::Error) -> Meaning {
    let message = format!(
        "no TLS connection to {place} ({error}): correct the server's certificates, or ssl-mode in the URL"
    );
    (ErrorKind::Config, Outcome::NotApplied, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_a_kind_and_an_outcome_that_a_caller_can_act_on() {
        let cases = [
            (1045, ErrorKind::Unauthorized, Outcome::NotApplied, "password"),
            (1142, ErrorKind::Unauthorized, Outcome::NotApplied, "grant"),
            (1049, ErrorKind::Config, Outcome::NotApplied, "URL"),
            (1290, ErrorKind::ReadOnly, Outcome::NotApplied, "primary"),
            (1836, ErrorKind::ReadOnly, Outcome::NotApplied, "primary"),
            (1792, ErrorKind::ReadOnly, Outcome::NotApplied, "primary"),
            (1146, ErrorKind::Schema, Outcome::NotApplied, SCRIPT),
            (1054, ErrorKind::Schema, Outcome::NotApplied, SCRIPT),
            (1364, ErrorKind::Schema, Outcome::NotApplied, SCRIPT),
            (1205, ErrorKind::Timeout, Outcome::NotApplied, "innodb_trx"),
            (1213, ErrorKind::Unavailable, Outcome::Unknown, "undid"),
            (3024, ErrorKind::Timeout, Outcome::Unknown, "interrupted"),
            (1040, ErrorKind::Unavailable, Outcome::NotApplied, "connections"),
            (1053, ErrorKind::Unavailable, Outcome::Unknown, "serve"),
            (1927, ErrorKind::Unavailable, Outcome::Unknown, "serve"),
            (1064, ErrorKind::Unsupported, Outcome::NotApplied, "MariaDB 10.6"),
            (9999, ErrorKind::Unexpected, Outcome::Unknown, "9999"),
        ];
        for (number, kind, outcome, part) in cases {
            let found = coded("db:3306/app", number, "said");
            assert_eq!((found.0, found.1), (kind, outcome), "{number}");
            assert!(found.2.contains(part) && found.2.contains("db:3306/app"), "{number}: {}", found.2);
        }
    }
}
