//! The tables.

use std::time::Duration;

use sqlx::Postgres;

use super::message::{PRELUDE, transaction};
use crate::{
    BackendError,
    sql::{self, Server},
};

const SCRIPT: &str = include_str!("../../sql/init-simba-postgresql.sql");

const TABLES: &str =
    "select to_regclass('simba_session') is not null and to_regclass('simba_lease') is not null
    and to_regclass('simba_member') is not null as found";

/// One process at a time: two that create a table at once refuse each other. (The number is "simba".)
const ALONE: &str = "select pg_advisory_xact_lock(495740543585)";

/// Each statement fails to be planned where a column is missing or of another type, where a key is missing, or
/// where a permission is. None is run, so that a server which takes no writes can be connected to.
const PROBE: &str = "explain insert into simba_session (session_id, expires_at, metadata)
        select session_id, expires_at + 1::bigint, metadata || '' from simba_session;
    explain delete from simba_session where session_id || '' = '';
    explain insert into simba_lease (name, session_id, token)
        select name || '', session_id || '', token + 1::bigint from simba_lease on conflict (name) do nothing;
    explain update simba_lease set session_id = '', token = token + 1::bigint where name || '' = '';
    explain insert into simba_member (group_name, session_id)
        select group_name || '', session_id || '' from simba_member
        on conflict (group_name, session_id) do nothing;
    explain delete from simba_member where group_name || '' = ''";

/// Runs the script if a table is missing.
pub(super) async fn create(server: &Server<Postgres>, limit: Duration) -> Result<(), BackendError> {
    let limit = limit.as_millis();
    let answer = server.keep_alive(transaction(limit, limit, TABLES)).await?;
    let found = answer.rows(PRELUDE).first().and_then(|row| sql::text(row, "found"));
    if found.as_deref() == Some("t") {
        return Ok(());
    }
    let script = SCRIPT.trim_end().trim_end_matches(';');
    server.keep_alive(transaction(limit, limit, &format!("{ALONE}; {script}"))).await.map(|_| ())
}

/// Fails unless the tables are there and are Simba's.
pub(super) async fn check(server: &Server<Postgres>, limit: Duration) -> Result<(), BackendError> {
    let limit = limit.as_millis();
    server.keep_alive(transaction(limit, limit, PROBE)).await.map(|_| ())
}
