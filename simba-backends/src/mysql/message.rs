//! A message: the statements of one call, sent as one string of the text protocol.
//!
//! Each is written so that no setting of the server, the user or an application's pool matters. Names and ids
//! have a safe alphabet, other text is hexadecimal, quotes are single. Isolation is said before each
//! transaction. Where nothing else is said a statement is a transaction of its own: it may wait for a lock, and
//! if it waits in vain, nothing stays locked until the client has read of it.

use std::time::Duration;

use futures_core::future::BoxFuture;
use sqlx::{AssertSqlSafe, Either, Executor, MySql, MySqlConnection, mysql::MySqlRow};
use tokio_stream::StreamExt;

use super::error;
use crate::{BackendError, GroupName, LeaseName, SessionId, Token, sql};

/// The storage's time in ms, as it was when the statement began: whoever needs it as it is under a lock reads
/// it in the statement after. It knows no time zone.
macro_rules! now {
    () => {
        "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) div 1000"
    };
}
pub(super) use now;

/// More rows than any message has. With a bound, a subquery that locks is run before what is around it.
macro_rules! all {
    () => {
        "limit 1000000"
    };
}
pub(super) use all;

const READ_COMMITTED: &str = "set transaction isolation level read committed, read write";

const READ_UNCOMMITTED: &str = "set transaction isolation level read uncommitted, read write";

/// The statements of one call.
#[derive(Debug, Default)]
pub(super) struct Message {
    statements: Vec<String>,
}

impl Message {
    /// Adds a statement as it is. Gives its number, by which its rows are found.
    pub(super) fn add(&mut self, statement: impl Into<String>) -> usize {
        self.statements.push(statement.into());
        self.statements.len() - 1
    }

    /// Adds one that is a transaction of its own, or begins one.
    pub(super) fn alone(&mut self, statement: impl Into<String>) -> usize {
        self.add(READ_COMMITTED);
        self.add(statement)
    }

    /// Adds one that also reads what others have not committed.
    pub(super) fn dirty(&mut self, statement: impl Into<String>) -> usize {
        self.add(READ_UNCOMMITTED);
        self.add(statement)
    }

    /// The text, and how many statements precede those that were added.
    pub(super) fn framed(self, frame: &Frame) -> (String, usize) {
        let statements = frame.before.iter().chain(&self.statements).chain(&frame.after);
        (statements.map(String::as_str).collect::<Vec<_>>().join(";\n"), frame.before.len())
    }
}

/// What a connection must be told before a message, and after it.
#[derive(Debug)]
pub(super) struct Frame {
    before: Vec<String>,
    after: Vec<String>,
}

/// Settings that a message relies on, whatever the server or an application has made of them.
fn settings(row_wait: Duration, table_wait: Duration) -> [(&'static str, String); 7] {
    let seconds = |wait: Duration| (wait.as_secs_f64().ceil() as u64).max(1).to_string();
    [
        ("autocommit", "1".into()),
        ("innodb_lock_wait_timeout", seconds(row_wait)),
        ("lock_wait_timeout", seconds(table_wait)),
        ("group_concat_max_len", "1048576".into()),
        ("sql_mode", "'STRICT_ALL_TABLES'".into()),
        ("sql_safe_updates", "0".into()),
        ("sql_select_limit", u64::MAX.to_string()),
    ]
}

impl Frame {
    /// For a connection that is ours.
    pub(super) fn ours(row_wait: Duration, table_wait: Duration) -> Self {
        let set = settings(row_wait, table_wait).map(|(name, value)| format!("{name} = {value}"));
        Self { before: vec![format!("set {}", set.join(", "))], after: Vec::new() }
    }

    /// For a connection of the application, which finds it as it was: it may be in the middle of a transaction
    /// that nobody ended, and of settings that others rely on.
    pub(super) fn theirs(row_wait: Duration, table_wait: Duration) -> Self {
        let names = settings(row_wait, table_wait).map(|(name, _)| name);
        let save = names.map(|name| format!("@simba_{name} = @@session.{name}"));
        let restore = names.map(|name| format!("{name} = @simba_{name}"));
        let mut before = vec!["rollback".into(), format!("set {}", save.join(", "))];
        before.extend(Self::ours(row_wait, table_wait).before);
        Self { before, after: vec![format!("set {}", restore.join(", "))] }
    }
}

/// What may stand in a statement as it is.
pub(super) trait Literal {
    fn text(&self) -> &str;
}

impl Literal for LeaseName {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl Literal for GroupName {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl Literal for SessionId {
    fn text(&self) -> &str {
        self.as_str()
    }
}

pub(super) fn literal(word: &impl Literal) -> String {
    format!("'{}'", word.text())
}

/// Any text.
pub(super) fn free_text(text: &str) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("convert(0x{hex} using utf8mb4)")
}

/// Names as a JSON array of texts.
pub(super) fn names<'a>(names: impl IntoIterator<Item = &'a LeaseName>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("\"{name}\"")).collect();
    format!("'[{}]'", names.join(","))
}

/// Names with tokens as a JSON array of pairs.
pub(super) fn leases(leases: &[(LeaseName, Token)]) -> String {
    let pairs: Vec<String> = leases.iter().map(|(name, token)| format!("[\"{name}\",{token}]")).collect();
    format!("'[{}]'", pairs.join(","))
}

impl sql::Driver for MySql {
    fn exchange<'c>(
        connection: &'c mut MySqlConnection,
        message: &'c str,
    ) -> BoxFuture<'c, Result<Vec<Vec<MySqlRow>>, sql::Failure>> {
        Box::pin(async move {
            let mut statements = vec![Vec::new()];
            let mut answers = connection.fetch_many(sqlx::raw_sql(AssertSqlSafe(message.to_owned())));
            while let Some(answer) = answers.next().await {
                match answer {
                    Ok(Either::Left(_end_of_statement)) => statements.push(Vec::new()),
                    Ok(Either::Right(row)) => statements.last_mut().expect("there is always one").push(row),
                    // A victim is run again even where a statement before it has changed something: every
                    // message may be.
                    Err(error) if Self::is_victim(&error) => return Err(error.into()),
                    Err(error) => {
                        let is_committed = has_changed(message, statements.len() - 1);
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
        matches!(error::number(error), Some(error::DEADLOCK | error::RECORD_CHANGED))
    }
}

/// Whether one of so many statements may have changed something. No literal has a semicolon in it.
fn has_changed(message: &str, statements: usize) -> bool {
    let changes = |statement: &str| {
        let verb = statement.trim_start();
        ["insert", "update", "delete", "commit"].iter().any(|change| verb.starts_with(change))
    };
    message.split(';').take(statements).any(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_from_one_that_comes_after_a_change() {
        let mut message = Message::default();
        message.alone("select 1");
        let change = message.alone("update t set a = 1");
        let after = message.alone("select 2");
        let (text, before) = message.framed(&Frame::ours(Duration::from_secs(1), Duration::from_secs(1)));
        assert!(!has_changed(&text, before + change), "the change itself fails");
        assert!(has_changed(&text, before + after), "what comes after it fails");
    }

    #[test]
    fn no_text_can_end_its_literal() {
        assert_eq!(free_text("'); drop--\\"), "convert(0x27293b2064726f702d2d5c using utf8mb4)");
        assert_eq!(free_text(""), "''");
    }

    #[test]
    fn an_application_finds_its_connection_as_it_was() {
        let frame = Frame::theirs(Duration::from_millis(1500), Duration::from_secs(5));
        assert_eq!(frame.before[0], "rollback");
        for setting in ["autocommit", "innodb_lock_wait_timeout", "sql_select_limit"] {
            assert!(frame.before[1].contains(&format!("@simba_{setting} = @@session.{setting}")));
            assert!(frame.after[0].contains(&format!("{setting} = @simba_{setting}")));
        }
        assert!(frame.before[2].contains("innodb_lock_wait_timeout = 2,"));
    }
}
