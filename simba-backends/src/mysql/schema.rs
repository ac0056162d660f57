//! The tables: making them, and recognising others.

use std::collections::BTreeMap;

use sqlx::{MySql, mysql::MySqlRow};

use super::{
    error::SCRIPT,
    flavour::Flavour,
    message::{Frame, Message},
};
use crate::{
    BackendError, ErrorKind, Outcome,
    sql::{Server, integer, text},
};

const CREATE: &str = include_str!("../../sql/init-simba-mysql.sql");

/// Also ends a transaction that somebody left open.
const VERSION: &str = "rollback; select version() as version";

const TABLES: &str =
    "select c.table_name as table_name, c.column_name as column_name, c.data_type as data_type,
        c.character_maximum_length as length, c.collation_name as collation, c.column_key as column_key,
        t.engine as engine
    from information_schema.columns c join information_schema.tables t
        on t.table_schema = c.table_schema and t.table_name = c.table_name
    where c.table_schema = database() and c.table_name in ('simba_session', 'simba_lease', 'simba_member')";

/// Fails where the user may not do what Simba does. None is run.
const PROBES: [&str; 6] = [
    "explain insert into simba_session (session_id, expires_at) select session_id, expires_at from simba_session",
    "explain delete from simba_session where session_id = ''",
    "explain insert into simba_lease (name, session_id, token) select name, session_id, token from simba_lease",
    "explain update simba_lease set session_id = '', token = token where name = ''",
    "explain insert into simba_member (group_name, session_id) select group_name, session_id from simba_member",
    "explain delete from simba_member where group_name = '' and session_id = ''",
];

/// What a column must be.
enum Kind {
    /// A text that is compared byte by byte, of at least that length.
    Id(i64),
    Number,
    Text(i64),
}

const COLUMNS: [(&str, &str, Kind); 8] = [
    ("simba_session", "session_id", Kind::Id(32)),
    ("simba_session", "expires_at", Kind::Number),
    ("simba_session", "metadata", Kind::Text(1024)),
    ("simba_lease", "name", Kind::Id(128)),
    ("simba_lease", "session_id", Kind::Id(32)),
    ("simba_lease", "token", Kind::Number),
    ("simba_member", "group_name", Kind::Id(128)),
    ("simba_member", "session_id", Kind::Id(32)),
];

/// What makes a row the only one of its key.
const KEYS: [(&str, &str); 4] = [
    ("simba_session", "session_id"),
    ("simba_lease", "name"),
    ("simba_member", "group_name"),
    ("simba_member", "session_id"),
];

/// Asks which kind of server it is; an error where it is too old.
pub(super) async fn flavour(server: &Server<MySql>) -> Result<Flavour, BackendError> {
    let answer = server.call(VERSION.to_owned()).await?;
    let version = answer.rows(1).first().and_then(|row| text(row, "version"));
    Flavour::of(server.place(), &version.unwrap_or_default())
}

/// Makes the tables that are missing.
pub(super) async fn create(server: &Server<MySql>, frame: &Frame) -> Result<(), BackendError> {
    let mut message = Message::default();
    message.add(CREATE.trim_end().trim_end_matches(';'));
    server.call(message.framed(frame).0).await.map(|_| ())
}

/// Says what is wrong with the tables.
pub(super) async fn check(server: &Server<MySql>, frame: &Frame) -> Result<(), BackendError> {
    let mut message = Message::default();
    let database = message.add("select database() as chosen");
    let tables = message.add(TABLES);
    let (message, before) = message.framed(frame);
    let answer = server.call(message).await?;
    let place = server.place();
    if answer.rows(before + database).first().and_then(|row| text(row, "chosen")).is_none() {
        let message = format!("no database for {place}: name one in the URL, as in mysql://db.example/app");
        return Err(BackendError::config(message));
    }
    compare(place, answer.rows(before + tables))?;
    let mut probes = Message::default();
    for probe in PROBES {
        probes.add(probe);
    }
    server.call(probes.framed(frame).0).await.map(|_| ())
}

fn compare(place: &str, rows: &[MySqlRow]) -> Result<(), BackendError> {
    let key = |row| Some(((text(row, "table_name")?, text(row, "column_name")?), row));
    let found: BTreeMap<(String, String), &MySqlRow> = rows.iter().filter_map(key).collect();
    for (table, name, kind) in COLUMNS {
        if !found.keys().any(|(found, _)| found == table) {
            return Err(foreign(format!("the table {table} is missing on {place}: run {SCRIPT}")));
        }
        let what = match found.get(&(table.to_owned(), name.to_owned())) {
            None => Some("is missing".to_owned()),
            Some(row) => trouble(row, &kind, KEYS.contains(&(table, name))),
        };
        if let Some(what) = what {
            return Err(foreign(format!(
                "{table}.{name} on {place} {what}: compare the table with {SCRIPT}"
            )));
        }
    }
    Ok(())
}

fn trouble(row: &MySqlRow, kind: &Kind, is_key: bool) -> Option<String> {
    let said = |name| text(row, name).unwrap_or_default().to_ascii_lowercase();
    let (data_type, engine) = (said("data_type"), said("engine"));
    let is_short = |least: i64| integer(row, "length").unwrap_or_default() < least;
    if engine != "innodb" {
        return Some(format!("is in a table of the engine {engine:?}, which knows no transactions"));
    }
    if is_key && said("column_key") != "pri" {
        return Some("is not in the primary key".to_owned());
    }
    let is_text = matches!(data_type.as_str(), "char" | "varchar");
    match kind {
        Kind::Number if data_type == "bigint" => None,
        Kind::Id(least) if is_text && is_short(*least) => Some("is too short".to_owned()),
        Kind::Id(_) if is_text && !said("collation").ends_with("_bin") => {
            Some("does not tell upper case from lower case".to_owned())
        }
        Kind::Text(least) if data_type == "varchar" && is_short(*least) => Some("is too short".to_owned()),
        Kind::Id(_) if is_text => None,
        Kind::Text(_) if data_type == "varchar" => None,
        Kind::Number | Kind::Id(_) | Kind::Text(_) => Some(format!("has the type {data_type}")),
    }
}

fn foreign(message: String) -> BackendError {
    BackendError::new(ErrorKind::Schema, Outcome::NotApplied, message)
}
