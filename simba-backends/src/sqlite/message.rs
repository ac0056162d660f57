//! A message: the statements of one call, sent to the connection's thread in one piece.

use sqlx::{
    Either, Executor, Sqlite, SqliteConnection,
    query::Query,
    sqlite::{SqliteArguments, SqliteRow},
};
use tokio_stream::StreamExt;

use crate::LeaseName;

/// The statements of one call, with their arguments.
#[derive(Clone)]
pub(super) struct Message {
    sql: &'static str,
    arguments: Vec<Argument>,
}

#[derive(Clone)]
enum Argument {
    Text(String),
    Integer(i64),
}

impl Message {
    pub(super) fn new(sql: &'static str) -> Self {
        Self { sql, arguments: Vec::new() }
    }

    /// Adds the next argument (`?1` is the first).
    pub(super) fn text(mut self, text: impl ToString) -> Self {
        self.arguments.push(Argument::Text(text.to_string()));
        self
    }

    /// Adds the next argument.
    pub(super) fn integer(mut self, number: i64) -> Self {
        self.arguments.push(Argument::Integer(number));
        self
    }

    fn query(&self) -> Query<'static, Sqlite, SqliteArguments> {
        let query = sqlx::query(self.sql);
        self.arguments.iter().fold(query, |query, argument| match argument {
            Argument::Text(text) => query.bind(text.clone()),
            Argument::Integer(number) => query.bind(*number),
        })
    }
}

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
    message: &Message,
) -> Result<Vec<Vec<SqliteRow>>, sqlx::Error> {
    let mut statements = vec![Vec::new()];
    let mut answers = driver.fetch_many(message.query());
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
