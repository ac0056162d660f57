//! A message: the statements of one call, sent as one string in the simple protocol.
//!
//! Nothing is prepared, so that two messages may reach two servers behind a pooler, and everything is quoted
//! so that no setting of the server matters: names and ids have a safe alphabet, other text is hexadecimal.

use futures_core::future::BoxFuture;
use sqlx::{AssertSqlSafe, Either, Executor, PgConnection, Postgres, postgres::PgRow};
use tokio_stream::StreamExt;

use super::error;
use crate::{
    BackendError,
    sql::{self, Literal},
};

/// The storage's time in ms, as it is when the expression is evaluated (`now()` would be as it was when the
/// message came in).
macro_rules! now {
    () => {
        "floor(extract(epoch from clock_timestamp()) * 1000)::bigint"
    };
}
pub(super) use now;

/// How many statements come before the first one of a transaction's own.
pub(super) const PRELUDE: usize = 2;

/// Statements that are one transaction, at the isolation that they are written for whatever the server's
/// default is. `wait` bounds each wait for a lock in milliseconds, `limit` each statement: the server does
/// not know that a client has given up.
///
/// It divides by zero on a connection of the application's that is in the middle of a transaction which has
/// written: to begin would only be warned of there, and our `commit` would be the application's.
///
/// Not one that was declared to write: then a server that is set to take no writes would take them.
pub(super) fn transaction(wait: u128, limit: u128, statements: &str) -> String {
    format!(
        "begin isolation level read committed; \
         select set_config('lock_timeout', '{wait}', true), set_config('statement_timeout', '{limit}', true), \
         set_config('jit', 'off', true), 1 / (pg_current_xact_id_if_assigned() is null)::int; {statements}; commit"
    )
}

/// Words as an array of texts. In quotes, because a bare `null` would be none.
pub(super) fn array<'a, T: Literal + 'a>(words: impl IntoIterator<Item = &'a T>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("\"{}\"", word.text())).collect();
    format!("'{{{}}}'::text[]", words.join(","))
}

/// Any text, in whatever encoding the database has.
pub(super) fn free_text(text: &str) -> String {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("convert_from(decode('{hex}', 'hex'), 'UTF8')")
}

impl sql::Driver for Postgres {
    fn exchange<'c>(
        connection: &'c mut PgConnection,
        message: &'c str,
    ) -> BoxFuture<'c, Result<Vec<Vec<PgRow>>, sql::Failure>> {
        Box::pin(async move {
            let mut statements = vec![Vec::new()];
            let mut answers = connection.fetch_many(sqlx::raw_sql(AssertSqlSafe(message.to_owned())));
            while let Some(answer) = answers.next().await {
                match answer {
                    Ok(Either::Left(_end_of_statement)) => statements.push(Vec::new()),
                    Ok(Either::Right(row)) => statements.last_mut().expect("there is always one").push(row),
                    Err(error) => {
                        let is_committed = commit_ended(message, statements.len() - 1);
                        return Err(sql::Failure { error, is_committed });
                    }
                }
            }
            Ok(statements)
        })
    }

    fn meaning(place: &str, error: sqlx::Error) -> BackendError {
        error::of(place, error)
    }

    fn is_victim(error: &sqlx::Error) -> bool {
        let code = error.as_database_error().and_then(|error| error.code());
        matches!(code.as_deref(), Some(error::SERIALIZATION_FAILURE | error::DEADLOCK))
    }
}

/// Whether so many statements include the `commit`. No literal has a semicolon in it.
fn commit_ended(message: &str, statements: usize) -> bool {
    message.split(';').take(statements).any(|statement| statement.trim() == "commit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeaseName;

    #[test]
    fn what_fails_after_the_commit_is_told_from_what_fails_before_it() {
        let message = format!("{}; select 2; select 3", transaction(1, 2, "select 1"));
        assert!(!commit_ended(&message, PRELUDE));
        assert!(!commit_ended(&message, PRELUDE + 1), "the commit itself fails");
        assert!(commit_ended(&message, PRELUDE + 2), "the first read after it fails");
        assert!(commit_ended(&message, PRELUDE + 3));
        assert!(!commit_ended("select 1; select 2", 2));
    }

    #[test]
    fn no_text_can_end_its_literal() {
        assert_eq!(
            free_text("'); drop--\\"),
            "convert_from(decode('27293b2064726f702d2d5c', 'hex'), 'UTF8')"
        );
        assert_eq!(free_text("ä"), "convert_from(decode('c3a4', 'hex'), 'UTF8')");
        let names = ["null", "a.b:c_d-e"].map(|name| name.parse::<LeaseName>().unwrap());
        assert_eq!(array(&names), "'{\"null\",\"a.b:c_d-e\"}'::text[]");
        assert_eq!(array::<LeaseName>([]), "'{}'::text[]");
    }
}
