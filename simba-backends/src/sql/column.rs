//! Reading columns without trusting them: whoever can write the tables may have written anything.

use sqlx::{ColumnIndex, Decode, Row};

use crate::{BackendError, ErrorKind, Metadata, Outcome, SessionId, Token};

/// The text of a column, or `None` where it is null or no text.
pub(crate) fn text<R: Row>(row: &R, column: &str) -> Option<String>
where
    for<'c> &'c str: ColumnIndex<R>,
    for<'r> String: Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    row.try_get_unchecked::<Option<String>, _>(column).ok().flatten()
}

/// The number of a column, or `None` where it is null. What is no number may read as 0.
pub(crate) fn integer<R: Row>(row: &R, column: &str) -> Option<i64>
where
    for<'c> &'c str: ColumnIndex<R>,
    for<'r> i64: Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    row.try_get_unchecked::<Option<i64>, _>(column).ok().flatten()
}

/// The token of a column, or `None` where it is none.
pub(crate) fn token<R: Row>(row: &R, column: &str) -> Option<Token>
where
    for<'c> &'c str: ColumnIndex<R>,
    for<'r> i64: Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    integer(row, column).and_then(|number| Token::new(u64::try_from(number).ok()?))
}

pub(crate) fn session(text: &str, table: &str, key: &str) -> Result<SessionId, BackendError> {
    text.parse().map_err(|error| corrupt(table, key, "its session_id is malformed").with_source(error))
}

pub(crate) fn metadata(text: Option<String>, session: &SessionId) -> Result<Metadata, BackendError> {
    let found = Metadata::try_from(text.unwrap_or_default());
    found.map_err(|error| {
        corrupt("simba_session", session.as_str(), "its metadata is malformed").with_source(error)
    })
}

/// A row that Simba cannot have written.
pub(crate) fn corrupt(table: &str, key: &str, what: &str) -> BackendError {
    BackendError::new(
        ErrorKind::Corrupt,
        Outcome::NotApplied,
        format!("corrupt row {key:?} in {table}: {what}; correct or delete what is not Simba's"),
    )
}
