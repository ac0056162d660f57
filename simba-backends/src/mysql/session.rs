//! Sessions: open, keep alive, close.

use std::time::Duration;

use sqlx::mysql::MySqlRow;
use tracing::{debug, warn};

use super::{
    Answer, Lane, MySqlBackend,
    message::{Message, all, free_text, now},
    purge,
};
use crate::{
    BackendError, GroupName, KeepAlive, LeaseName, Metadata, Opened, SessionId, Token,
    sql::{self, integer, literal, text, token},
};

pub(super) async fn open(
    backend: &MySqlBackend,
    lease: Duration,
    metadata: &Metadata,
) -> Result<Opened, BackendError> {
    let session = SessionId::random();
    let millis = sql::millis(lease)?;
    let mut message = Message::default();
    message.add(format!(
        concat!(
            "insert into simba_session (session_id, expires_at, metadata) values ({}, ",
            now!(),
            " + {}, {})"
        ),
        literal(&session),
        millis,
        free_text(metadata.as_str())
    ));
    let clock = message.add(concat!("select ", now!(), " as now"));
    // Where no keep-alive could be sent no session is to live: it would win leases and let each run out.
    let answer = backend.send(Lane::KeepAlives, message).await?;
    if let Some(now) = answer.rows(clock).first().and_then(|row| integer(row, "now")) {
        purge::when_due(backend, now);
    }
    Ok(Opened { session, remaining: sql::left(millis, 0) })
}

/// Where the answers of a keep-alive are.
struct KeepAliveMessage {
    message: Message,
    before: usize,
    after: usize,
    leases: usize,
    groups: usize,
}

/// The lock is taken first and the clock is read under it, in a later statement, so that a session whose lease
/// ran out during the wait is not revived. `greatest`: one that executes late takes nothing back from a newer
/// one. What is held is read after the commit: the session lives then, so nobody can have taken anything since.
fn keep_alive_message(session: &SessionId, millis: i64) -> KeepAliveMessage {
    let id = literal(session);
    let mut message = Message::default();
    message.add("start transaction");
    let before =
        message.add(format!("select expires_at from simba_session where session_id = {id} for update"));
    message.add(format!(
        concat!(
            "update simba_session set expires_at = greatest(expires_at, ",
            now!(),
            " + {millis}) where session_id = {id} and expires_at > ",
            now!()
        ),
        id = id,
        millis = millis
    ));
    let after = message.add(format!(
        concat!("select expires_at, ", now!(), " as now from simba_session where session_id = {}"),
        id
    ));
    message.add("commit");
    let leases = message.add(format!("select name, token from simba_lease where session_id = {id}"));
    let groups = message.add(format!("select group_name from simba_member where session_id = {id}"));
    KeepAliveMessage { message, before, after, leases, groups }
}

pub(super) async fn keep_alive(
    backend: &MySqlBackend,
    session: &SessionId,
    lease: Duration,
) -> Result<KeepAlive, BackendError> {
    let millis = sql::millis(lease)?;
    let KeepAliveMessage { message, before, after, leases, groups } = keep_alive_message(session, millis);
    let answer = backend.send(Lane::KeepAlives, message).await?;
    if let Some(renewed) = renewed(answer.rows(before), answer.rows(after)) {
        purge::when_due(backend, renewed.now);
        return Ok(live(&renewed, millis, answer.rows(leases), answer.rows(groups)));
    }
    if let Err(error) = close_on(backend, Lane::KeepAlives, session).await {
        // It is expired all the same, and the purge removes it.
        warn!(%session, %error, "expired session not removed");
    }
    Ok(KeepAlive::Expired)
}

struct Renewed {
    previous: i64,
    expires_at: i64,
    now: i64,
}

/// `None` where the session was not renewed, which is why it is expired afterwards.
fn renewed(before: &[MySqlRow], after: &[MySqlRow]) -> Option<Renewed> {
    let (before, after) = (before.first()?, after.first()?);
    let renewed = Renewed {
        previous: integer(before, "expires_at")?,
        expires_at: integer(after, "expires_at")?,
        now: integer(after, "now")?,
    };
    (renewed.expires_at > renewed.now).then_some(renewed)
}

fn live(renewed: &Renewed, millis: i64, leases: &[MySqlRow], groups: &[MySqlRow]) -> KeepAlive {
    let mut owned = Vec::new();
    let mut unknown = Vec::new();
    for row in leases {
        match held(row) {
            Some((name, Some(token))) => owned.push((name, token)),
            Some((name, None)) => unknown.push(name),
            None => debug!(name = ?text(row, "name"), "corrupt name in simba_lease"),
        }
    }
    KeepAlive::Live {
        remaining: sql::left(renewed.expires_at, renewed.now).min(sql::left(millis, 0)),
        owned,
        unknown,
        groups: groups.iter().filter_map(group).collect(),
        server_elapsed: Some(sql::span(renewed.now, renewed.previous.saturating_sub(millis))),
    }
}

/// The name, and its token unless that is corrupt: then nobody knows what is held.
fn held(row: &MySqlRow) -> Option<(LeaseName, Option<Token>)> {
    let name = text(row, "name")?.parse().ok()?;
    Some((name, token(row, "token")))
}

fn group(row: &MySqlRow) -> Option<GroupName> {
    text(row, "group_name")?.parse().ok()
}

pub(super) async fn close(backend: &MySqlBackend, session: &SessionId) -> Result<(), BackendError> {
    close_on(backend, Lane::Calls, session).await
}

/// Without its session nothing counts any more that it has: one that fails half-way has done the better part.
/// What is locked by somebody then is left to the purge.
async fn close_on(backend: &MySqlBackend, lane: Lane, session: &SessionId) -> Result<(), BackendError> {
    let id = literal(session);
    let (member, lease) = (backend.flavour().locked("x"), backend.flavour().locked("x"));
    let mut message = Message::default();
    message.add(format!("delete from simba_session where session_id = {id}"));
    message.add(format!(
        concat!(
            "delete m from (select x.group_name from simba_member x where x.session_id = {id} ",
            all!(),
            " {member}) t straight_join simba_member m force index (primary)
            on m.group_name = t.group_name and m.session_id = {id}"
        ),
        id = id,
        member = member
    ));
    message.add(format!(
        concat!(
            "update (select x.name from simba_lease x where x.session_id = {id} ",
            all!(),
            " {lease}) t straight_join simba_lease l force index (primary) on l.name = t.name
            set l.session_id = ''"
        ),
        id = id,
        lease = lease
    ));
    let _: Answer = backend.send(lane, message).await?;
    backend.shared.freed.tell_all();
    Ok(())
}
