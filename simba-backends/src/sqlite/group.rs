//! Groups: join, leave, members.

use super::{
    SqliteBackend,
    message::{Message, now},
};
use crate::{
    BackendError, GroupName, Joined, Member, SessionId,
    sql::{self, text},
};

/// Checks the session in the same statement, and returns a row if and only if it lives.
const JOIN: &str = concat!(
    "insert into simba_member (group_name, session_id)
    select ?1, ?2 where exists
        (select 1 from simba_session where session_id = ?2 and expires_at > ",
    now!(),
    ") on conflict (group_name, session_id) do update set session_id = excluded.session_id
    returning session_id"
);

const LEAVE: &str = "delete from simba_member where group_name = ?1 and session_id = ?2";

const MEMBERS: &str = concat!(
    "select m.session_id, s.metadata
    from simba_member m join simba_session s on s.session_id = m.session_id
    where m.group_name = ?1 and s.expires_at > ",
    now!(),
    " order by m.session_id"
);

pub(super) async fn join(
    backend: &SqliteBackend,
    session: &SessionId,
    group: &GroupName,
) -> Result<Joined, BackendError> {
    let message = Message::new(JOIN).text(group).text(session);
    let answer = backend.shared.writes.run(message).await?;
    let lost = backend.shared.homes.is_lost(session, answer.file);
    Ok(if answer.rows(0).is_empty() || lost { Joined::Expired } else { Joined::Member })
}

pub(super) async fn leave(
    backend: &SqliteBackend,
    session: &SessionId,
    group: &GroupName,
) -> Result<(), BackendError> {
    let message = Message::new(LEAVE).text(group).text(session);
    backend.shared.writes.run(message).await.map(|_| ())
}

pub(super) async fn members(backend: &SqliteBackend, group: &GroupName) -> Result<Vec<Member>, BackendError> {
    let answer = backend.shared.reads.run(Message::new(MEMBERS).text(group)).await?;
    let member = |found: &_| {
        let id = text(found, "session_id").unwrap_or_default();
        let session = sql::session(&id, "simba_member", group.as_str())?;
        let metadata = sql::metadata(text(found, "metadata"), &session)?;
        Ok(Member { session, metadata })
    };
    answer.rows(0).iter().map(member).collect()
}
