//! A message: the statements of one call, sent to the connection's thread in one piece.

use sqlx::{
    Either, Executor, Sqlite, SqliteConnection,
    query::Query,
    sqlite::{SqliteArguments, SqliteRow},
};
use tokio_stream::StreamExt;

use crate::LeaseName;

/// The statements of one call, with their arguments.
pub(super) type Message = Query<'static, Sqlite, SqliteArguments>;

/// The storage's time in ms. SQLite reads its clock at the first use within a statement, which is after
/// the statement has the lock that it needs: never a time from before a wait.
macro_rules! now {
    () => {
        "cast(round(unixepoch('subsec') * 1000) as integer)"
    };
}
pub(super) use now;

/// Runs a message to its end and gives the rows of each statement.
///
/// To its end also where one row would do: the driver resets a statement whose rows nobody reads, and so
/// hides an error of its commit.
pub(super) async fn exchange(
    driver: &mut SqliteConnection,
    message: Message,
) -> Result<Vec<Vec<SqliteRow>>, sqlx::Error> {
    let mut statements = vec![Vec::new()];
    let mut answers = driver.fetch_many(message);
    while let Some(answer) = answers.next().await {
        match answer? {
            Either::Left(_end_of_statement) => statements.push(Vec::new()),
            Either::Right(row) => statements.last_mut().expect("there is always one").push(row),
        }
    }
    Ok(statements)
}

/// Names as a JSON array. Their alphabet needs no escapes.
pub(super) fn json<'a>(names: impl IntoIterator<Item = &'a LeaseName>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", names.join(","))
}
