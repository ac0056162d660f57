//! A message: the statements of one call, sent as one string of the text protocol.
//!
//! Each is written so that no setting of the server, the user or an application's pool matters. Names and ids
//! have a safe alphabet, other text is hexadecimal, quotes are single. What else matters is set by the first
//! statement. Where nothing else is said a statement is a transaction of its own at READ COMMITTED: it may wait
//! for a lock, and if it waits in vain, nothing stays locked until the client has read of it.

use std::{fmt::Display, time::Duration};

use futures_core::future::BoxFuture;
use sqlx::{AssertSqlSafe, Either, Executor, MySql, MySqlConnection, mysql::MySqlRow};
use tokio_stream::StreamExt;

use super::{error, flavour::Flavour};
use crate::{BackendError, LeaseName, Token, sql};

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

/// The statements of one call.
#[derive(Debug, Default)]
pub(super) struct Message {
    variables: Vec<String>,
    statements: Vec<String>,
}

impl Message {
    /// Gives a variable of the connection a value before the first statement.
    pub(super) fn set(&mut self, variable: &str, value: impl Display) {
        self.variables.push(format!("{variable} = {value}"));
    }

    /// Adds a statement. Gives its number, by which its rows are found.
    pub(super) fn add(&mut self, statement: impl Into<String>) -> usize {
        self.statements.push(statement.into());
        self.statements.len() - 1
    }

    /// Adds one that also reads what others have not committed.
    pub(super) fn add_dirty(&mut self, statement: impl Into<String>) -> usize {
        self.add("set transaction isolation level read uncommitted");
        self.add(statement)
    }

    /// The text, and how many statements precede those that were added.
    pub(super) fn framed(self, frame: &Frame) -> (String, usize) {
        let set = frame.settings.iter().chain(&self.variables).map(String::as_str).collect::<Vec<_>>();
        let set = format!("set {}", set.join(", "));
        let statements = frame.before.iter().chain([&set]).chain(&self.statements).chain(&frame.after);
        (statements.map(String::as_str).collect::<Vec<_>>().join(";\n"), frame.before.len() + 1)
    }
}

/// What a connection must be told before a message, and after it.
#[derive(Debug)]
pub(super) struct Frame {
    before: Vec<String>,
    settings: Vec<String>,
    after: Vec<String>,
}

/// Settings that a message relies on, whatever the server or an application has made of them.
fn settings(flavour: Flavour, row_wait: Duration, table_wait: Duration) -> [(&'static str, String); 11] {
    let seconds = |wait: Duration| (wait.as_secs_f64().ceil() as u64).max(1).to_string();
    let (isolation, read_only) = flavour.transaction_settings();
    [
        ("autocommit", "1".into()),
        (isolation, "'READ-COMMITTED'".into()),
        (read_only, "0".into()),
        ("innodb_lock_wait_timeout", seconds(row_wait)),
        ("lock_wait_timeout", seconds(table_wait)),
        ("group_concat_max_len", "1048576".into()),
        ("sql_mode", "'STRICT_ALL_TABLES'".into()),
        ("sql_safe_updates", "0".into()),
        ("sql_select_limit", u64::MAX.to_string()),
        ("sql_big_selects", "1".into()),
        ("completion_type", "'NO_CHAIN'".into()),
    ]
}

/// How the statement begins that saves what an application has set.
const SAVE: &str = "set /* save */ ";

impl Frame {
    /// For a connection that is ours.
    pub(super) fn ours(flavour: Flavour, row_wait: Duration, table_wait: Duration) -> Self {
        let set = settings(flavour, row_wait, table_wait).map(|(name, value)| format!("{name} = {value}"));
        Self { before: Vec::new(), settings: set.into(), after: Vec::new() }
    }

    /// For a connection of the application, which finds it as it was: it may be in the middle of a transaction
    /// that nobody ended, and of settings that others rely on.
    pub(super) fn theirs(flavour: Flavour, row_wait: Duration, table_wait: Duration) -> Self {
        let names = settings(flavour, row_wait, table_wait).map(|(name, _)| name);
        let save = names.map(|name| format!("@simba_{name} = @@session.{name}"));
        let restore = names.map(|name| format!("{name} = @simba_{name}"));
        let before = vec!["rollback".into(), format!("{SAVE}{}", save.join(", "))];
        let after = vec![format!("set {}", restore.join(", "))];
        Self { before, after, ..Self::ours(flavour, row_wait, table_wait) }
    }
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
pub(super) fn json<'a>(names: impl IntoIterator<Item = &'a LeaseName>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("\"{name}\"")).collect();
    format!("'[{}]'", names.join(","))
}

/// Names as the list behind an `in`.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a LeaseName>) -> String {
    let names: Vec<String> = names.into_iter().map(sql::literal).collect();
    format!("({})", names.join(","))
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

    fn again(message: &str) -> String {
        // What would be saved now are our own settings.
        let statements = message.split(";\n").map(|part| if part.starts_with(SAVE) { "do 0" } else { part });
        statements.collect::<Vec<_>>().join(";\n")
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

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn an_error_is_told_from_one_that_comes_after_a_change() {
        let mut message = Message::default();
        message.add("select 1");
        let change = message.add("update t set a = 1");
        let after = message.add("select 2");
        for frame in
            [Frame::ours(Flavour::MySql, SECOND, SECOND), Frame::theirs(Flavour::MariaDb, SECOND, SECOND)]
        {
            let message =
                Message { variables: vec!["@a = 'update'".into()], statements: message.statements.clone() };
            let (text, before) = message.framed(&frame);
            assert!(!has_changed(&text, before + change), "the change itself fails");
            assert!(has_changed(&text, before + after), "what comes after it fails");
        }
    }

    #[test]
    fn a_victim_that_is_run_again_saves_nothing_anew() {
        let second = Duration::from_secs(1);
        let mut message = Message::default();
        message.add("select 1");
        let (text, _) = message.framed(&Frame::theirs(Flavour::MySql, second, second));
        let again = <MySql as sql::Driver>::again(&text);
        assert!(text.contains("@@session.autocommit") && !again.contains("@@session"));
        assert_eq!(text.matches(";\n").count(), again.matches(";\n").count(), "each row is where it was");
        assert!(again.contains("autocommit = @simba_autocommit"), "what was saved at first is restored");
    }

    #[test]
    fn no_text_can_end_its_literal() {
        assert_eq!(free_text("'); drop--\\"), "convert(0x27293b2064726f702d2d5c using utf8mb4)");
        assert_eq!(free_text(""), "''");
    }

    #[test]
    fn an_application_finds_its_connection_as_it_was() {
        let frame = Frame::theirs(Flavour::MySql, Duration::from_millis(1500), SECOND);
        assert_eq!(frame.before[0], "rollback");
        for setting in ["autocommit", "transaction_isolation", "sql_select_limit"] {
            assert!(frame.before[1].contains(&format!("@simba_{setting} = @@session.{setting}")));
            assert!(frame.after[0].contains(&format!("{setting} = @simba_{setting}")));
        }
        assert!(frame.settings.contains(&"innodb_lock_wait_timeout = 2".to_owned()), "whole seconds");
    }
}
