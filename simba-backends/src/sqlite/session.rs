//! Sessions: open, keep alive, close.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sqlx::sqlite::SqliteRow;
use tracing::{debug, warn};

use super::{
    SqliteBackend,
    database::FileId,
    lane::{Answer, Lane},
    message::{Message, now},
    purge,
};
use crate::{
    BackendError, GroupName, KeepAlive, LeaseName, Metadata, Opened, SessionId, Token,
    sql::{self, integer, text, token},
};

const OPEN: &str = concat!(
    "insert into simba_session (session_id, expires_at, metadata) values (?1, ",
    now!(),
    " + ?2, ?3) returning expires_at"
);

/// The lock is taken first and the clock is read under it, so that a session whose lease ran out during
/// the wait is not revived. `max`: one that executes late takes nothing back from a newer one. What is
/// held is read after the commit: the session lives then, so nobody can have taken anything since.
const KEEP_ALIVE: &str = concat!(
    "begin immediate;
    select expires_at from simba_session where session_id = ?1;
    update simba_session set expires_at = max(expires_at, ",
    now!(),
    " + ?2) where session_id = ?1 and expires_at > ",
    now!(),
    " returning expires_at, ",
    now!(),
    " as now;
    commit;
    select name, token from simba_lease where session_id = ?1;
    select group_name from simba_member where session_id = ?1"
);

const CLOSE: &str = "begin immediate;
    delete from simba_session where session_id = ?1;
    delete from simba_member where session_id = ?1;
    update simba_lease set session_id = '' where session_id = ?1;
    commit";

/// Which file each session of this process was opened in. A file that was replaced by a copy may list the
/// session as live, while others still use the old one.
#[derive(Default)]
pub(super) struct Homes(Mutex<BTreeMap<SessionId, FileId>>);

impl Homes {
    fn settle(&self, session: &SessionId, file: FileId) {
        self.lock().insert(session.clone(), file);
    }

    /// Whether the session was opened in another file than the one that answered.
    pub(super) fn is_lost(&self, session: &SessionId, file: FileId) -> bool {
        self.lock().get(session).is_some_and(|home| *home != file)
    }

    fn forget(&self, session: &SessionId) {
        self.lock().remove(session);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, FileId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn open(
    backend: &SqliteBackend,
    lease: Duration,
    metadata: &Metadata,
) -> Result<Opened, BackendError> {
    let session = SessionId::random();
    let millis = sql::millis(lease)?;
    let message = Message::new(OPEN).text(&session).integer(millis).text(metadata);
    // Where no keep-alive could be sent no session is to live: it would win leases and let each run out.
    let answer = backend.shared.keep_alives.run(message).await?;
    backend.shared.homes.settle(&session, answer.file);
    if let Some(expires_at) = answer.rows(0).first().and_then(|row| integer(row, "expires_at")) {
        purge::when_due(backend, expires_at.saturating_sub(millis));
    }
    Ok(Opened { session, remaining: sql::left(millis, 0) })
}

pub(super) async fn keep_alive(
    backend: &SqliteBackend,
    session: &SessionId,
    lease: Duration,
) -> Result<KeepAlive, BackendError> {
    let lane = &backend.shared.keep_alives;
    let millis = sql::millis(lease)?;
    let answer = lane.run(Message::new(KEEP_ALIVE).text(session).integer(millis)).await?;
    let renewed = renewed(&answer);
    match renewed {
        Some(renewed) if !backend.shared.homes.is_lost(session, answer.file) => {
            backend.shared.homes.settle(session, answer.file);
            purge::when_due(backend, renewed.now);
            Ok(live(&answer, &renewed, millis))
        }
        Some(_) | None => {
            if let Err(error) = close(backend, lane, session).await {
                // It is expired all the same, and the purge removes it.
                warn!(%session, %error, "expired session not removed");
            }
            Ok(KeepAlive::Expired)
        }
    }
}

struct Renewed {
    previous: i64,
    expires_at: i64,
    now: i64,
}

fn renewed(answer: &Answer) -> Option<Renewed> {
    let before = answer.rows(1).first()?;
    let after = answer.rows(2).first()?;
    Some(Renewed {
        previous: integer(before, "expires_at")?,
        expires_at: integer(after, "expires_at")?,
        now: integer(after, "now")?,
    })
}

fn live(answer: &Answer, renewed: &Renewed, millis: i64) -> KeepAlive {
    let mut owned = Vec::new();
    let mut unknown = Vec::new();
    for row in answer.rows(4) {
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
        groups: answer.rows(5).iter().filter_map(group).collect(),
        server_elapsed: Some(sql::span(renewed.now, renewed.previous.saturating_sub(millis))),
    }
}

/// The name, and its token unless that is corrupt: then nobody knows what is held.
fn held(row: &SqliteRow) -> Option<(LeaseName, Option<Token>)> {
    let name = text(row, "name")?.parse().ok()?;
    Some((name, token(row, "token")))
}

fn group(row: &SqliteRow) -> Option<GroupName> {
    text(row, "group_name")?.parse().ok()
}

/// Removes a session and frees all it has, in one transaction: a close that failed did nothing.
pub(super) async fn close(
    backend: &SqliteBackend,
    lane: &Lane,
    session: &SessionId,
) -> Result<(), BackendError> {
    lane.run(Message::new(CLOSE).text(session)).await?;
    backend.shared.homes.forget(session);
    backend.shared.freed.tell_all();
    Ok(())
}
