//! Sessions: open, keep alive, close.

use std::time::Duration;

use sqlx::postgres::PgRow;
use tracing::{debug, warn};

use super::{
    PostgresBackend, column,
    message::{PRELUDE, free_text, now},
    purge,
};
use crate::{
    BackendError, GroupName, KeepAlive, LeaseName, Metadata, Opened, SessionId, Token,
    sql::{self, integer, literal, token},
};

type Answer = sql::Answer<sqlx::Postgres>;

pub(super) async fn open(
    backend: &PostgresBackend,
    lease: Duration,
    metadata: &Metadata,
) -> Result<Opened, BackendError> {
    let session = SessionId::random();
    let millis = sql::millis(lease)?;
    let insert = format!(
        concat!(
            "insert into simba_session (session_id, expires_at, metadata)
            values ({id}, ",
            now!(),
            " + {millis}, {metadata}) returning expires_at"
        ),
        id = literal(&session),
        millis = millis,
        metadata = free_text(metadata.as_str())
    );
    // Where no keep-alive could be sent no session is to live: it would win leases and let each run out.
    let answer = backend.server().keep_alive(backend.patient(&insert)).await?;
    if let Some(expires_at) = answer.rows(PRELUDE).first().and_then(|row| integer(row, "expires_at")) {
        purge::when_due(backend, expires_at.saturating_sub(millis));
    }
    Ok(Opened { session, remaining: sql::left(millis, 0) })
}

/// The lock is taken first and the clock is read under it, in a later statement, so that a session whose lease
/// ran out during the wait is not revived. `greatest`: one that executes late takes nothing back from a newer
/// one. What is held is read after the commit: the session lives then, so nobody can have taken anything since.
fn keep_alive_message(backend: &PostgresBackend, session: &SessionId, millis: i64) -> String {
    let id = literal(session);
    let renew = format!(
        concat!(
            "select expires_at from simba_session where session_id = {id} for no key update;
            update simba_session set expires_at = greatest(expires_at, clock.now + {millis})
            from (select ",
            now!(),
            " as now) clock where session_id = {id} and expires_at > clock.now
            returning expires_at, clock.now"
        ),
        id = id,
        millis = millis
    );
    format!(
        "{}; select name, token from simba_lease where session_id = {id};
        select group_name from simba_member where session_id = {id}",
        backend.patient(&renew)
    )
}

pub(super) async fn keep_alive(
    backend: &PostgresBackend,
    session: &SessionId,
    lease: Duration,
) -> Result<KeepAlive, BackendError> {
    let millis = sql::millis(lease)?;
    let answer = backend.server().keep_alive(keep_alive_message(backend, session, millis)).await?;
    if let Some(renewed) = renewed(&answer) {
        purge::when_due(backend, renewed.now);
        return Ok(live(&answer, &renewed, millis));
    }
    match backend.server().keep_alive(close_message(backend, session)).await {
        Ok(answer) => backend.tell_freed(&answer),
        // It is expired all the same, and the purge removes it.
        Err(error) => warn!(%session, %error, "expired session not removed"),
    }
    Ok(KeepAlive::Expired)
}

struct Renewed {
    previous: i64,
    expires_at: i64,
    now: i64,
}

fn renewed(answer: &Answer) -> Option<Renewed> {
    let before = answer.rows(PRELUDE).first()?;
    let after = answer.rows(PRELUDE + 1).first()?;
    Some(Renewed {
        previous: integer(before, "expires_at")?,
        expires_at: integer(after, "expires_at")?,
        now: integer(after, "now")?,
    })
}

fn live(answer: &Answer, renewed: &Renewed, millis: i64) -> KeepAlive {
    let mut owned = Vec::new();
    let mut unknown = Vec::new();
    for row in answer.rows(PRELUDE + 3) {
        match held(row) {
            Some((name, Some(token))) => owned.push((name, token)),
            Some((name, None)) => unknown.push(name),
            None => debug!(name = ?column(row, "name"), "corrupt name in simba_lease"),
        }
    }
    KeepAlive::Live {
        remaining: sql::left(renewed.expires_at, renewed.now).min(sql::left(millis, 0)),
        owned,
        unknown,
        groups: answer.rows(PRELUDE + 4).iter().filter_map(group).collect(),
        server_elapsed: Some(sql::span(renewed.now, renewed.previous.saturating_sub(millis))),
    }
}

/// The name, and its token unless that is corrupt: then nobody knows what is held.
fn held(row: &PgRow) -> Option<(LeaseName, Option<Token>)> {
    let name = column(row, "name")?.parse().ok()?;
    Some((name, token(row, "token")))
}

fn group(row: &PgRow) -> Option<GroupName> {
    column(row, "group_name")?.parse().ok()
}

/// Removes a session and frees all it has, in one transaction: a close that failed did nothing. What it held is
/// read first, before there is any lock. A lease or membership whose row is locked is left as it is: without
/// its session it counts for nobody.
fn close_message(backend: &PostgresBackend, session: &SessionId) -> String {
    let id = literal(session);
    backend.patient(&format!(
        "select name from simba_lease where session_id = {id};
        delete from simba_session where session_id = {id};
        delete from simba_member where (group_name, session_id) in
            (select group_name, session_id from simba_member where session_id = {id} for update skip locked);
        update simba_lease set session_id = '' where name in
            (select name from simba_lease where session_id = {id} for no key update skip locked)"
    ))
}

pub(super) async fn close(backend: &PostgresBackend, session: &SessionId) -> Result<(), BackendError> {
    let answer = backend.server().call(close_message(backend, session)).await?;
    backend.tell_freed(&answer);
    backend.shared.freed.told().await;
    Ok(())
}
