//! Groups: join, leave, members.

use super::{
    Lane, MySqlBackend,
    message::{Message, now},
};
use crate::{
    BackendError, GroupName, Joined, Member, SessionId,
    sql::{self, literal, text},
};

/// Checks the session in the same statement; whether it lives, and is a member, is read after it.
pub(super) async fn join(
    backend: &MySqlBackend,
    session: &SessionId,
    group: &GroupName,
) -> Result<Joined, BackendError> {
    let (id, group) = (literal(session), literal(group));
    let mut message = Message::default();
    message.add(format!(
        concat!(
            "insert into simba_member (group_name, session_id)
            select {group}, session_id from simba_session where session_id = {id} and expires_at > ",
            now!(),
            " on duplicate key update session_id = {id}"
        ),
        group = group,
        id = id
    ));
    let joined = message.add(format!(
        concat!(
            "select 1 from simba_member m join simba_session s on s.session_id = m.session_id
            where m.group_name = {group} and m.session_id = {id} and s.expires_at > ",
            now!()
        ),
        group = group,
        id = id
    ));
    let answer = backend.send(Lane::Calls, message).await?;
    Ok(if answer.rows(joined).is_empty() { Joined::Expired } else { Joined::Member })
}

pub(super) async fn leave(
    backend: &MySqlBackend,
    session: &SessionId,
    group: &GroupName,
) -> Result<(), BackendError> {
    let mut message = Message::default();
    message.add(format!(
        "delete from simba_member where group_name = {} and session_id = {}",
        literal(group),
        literal(session)
    ));
    backend.send(Lane::Calls, message).await.map(|_| ())
}

pub(super) async fn members(backend: &MySqlBackend, group: &GroupName) -> Result<Vec<Member>, BackendError> {
    let mut message = Message::default();
    let members = message.add(format!(
        concat!(
            "select m.session_id, s.metadata
            from simba_member m join simba_session s on s.session_id = m.session_id
            where m.group_name = {} and s.expires_at > ",
            now!(),
            " order by m.session_id"
        ),
        literal(group)
    ));
    let answer = backend.send(Lane::Calls, message).await?;
    let member = |found: &_| {
        let id = text(found, "session_id").unwrap_or_default();
        let session = sql::session(&id, "simba_member", group.as_str())?;
        let metadata = sql::metadata(text(found, "metadata"), &session)?;
        Ok(Member { session, metadata })
    };
    answer.rows(members).iter().map(member).collect()
}
