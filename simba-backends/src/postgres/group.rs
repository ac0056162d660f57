//! Groups: join, leave, members.

use super::{
    PostgresBackend, column,
    message::{PRELUDE, now},
};
use crate::{
    BackendError, GroupName, Joined, Member, SessionId,
    sql::{self, literal},
};

/// Checks the session in the same statement. Whether it is a member is read after the commit: a row that was
/// there is left as it is.
pub(super) async fn join(
    backend: &PostgresBackend,
    session: &SessionId,
    group: &GroupName,
) -> Result<Joined, BackendError> {
    let (id, group) = (literal(session), literal(group));
    let insert = format!(
        concat!(
            "insert into simba_member (group_name, session_id)
            select {group}, {id} where exists
                (select 1 from simba_session where session_id = {id} and expires_at > ",
            now!(),
            ") on conflict (group_name, session_id) do nothing"
        ),
        group = group,
        id = id
    );
    let message = format!(
        concat!(
            "{insert}; select 1 as member from simba_member m join simba_session s on s.session_id = m.session_id
            where m.group_name = {group} and m.session_id = {id} and s.expires_at > ",
            now!()
        ),
        insert = backend.patient(&insert),
        group = group,
        id = id
    );
    let answer = backend.server().call(message).await?;
    Ok(if answer.rows(PRELUDE + 2).is_empty() { Joined::Expired } else { Joined::Member })
}

pub(super) async fn leave(
    backend: &PostgresBackend,
    session: &SessionId,
    group: &GroupName,
) -> Result<(), BackendError> {
    let (id, group) = (literal(session), literal(group));
    let delete = format!("delete from simba_member where group_name = {group} and session_id = {id}");
    backend.server().call(backend.patient(&delete)).await.map(|_| ())
}

pub(super) async fn members(
    backend: &PostgresBackend,
    group: &GroupName,
) -> Result<Vec<Member>, BackendError> {
    let select = format!(
        concat!(
            "select m.session_id, s.metadata
            from simba_member m join simba_session s on s.session_id = m.session_id
            where m.group_name = {group} and s.expires_at > ",
            now!()
        ),
        group = literal(group)
    );
    let answer = backend.server().call(backend.patient(&select)).await?;
    let member = |found: &_| {
        let id = column(found, "session_id").unwrap_or_default();
        let session = sql::session(&id, "simba_member", group.as_str())?;
        let metadata = sql::metadata(sql::text(found, "metadata"), &session)?;
        Ok(Member { session, metadata })
    };
    let members: Result<Vec<_>, _> = answer.rows(PRELUDE).iter().map(member).collect();
    let mut members = members?;
    members.sort_by(|one, other| one.session.cmp(&other.session));
    Ok(members)
}
