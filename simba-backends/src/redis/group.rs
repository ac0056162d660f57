//! Groups: join, leave, members.

use super::{
    RedisBackend,
    node::Lane,
    reply::{is_expired, left, list, parsed, span, unreadable},
    script::{self, Call},
    server::Server,
    session::{describe, too_late},
};
use crate::{BackendError, GroupName, Joined, Member, SessionId, clock::since_boot};

pub(super) async fn join(
    backend: &RedisBackend,
    session: &SessionId,
    group: &GroupName,
) -> Result<Joined, BackendError> {
    let (keys, server, begun) = (backend.keys(), backend.server(), since_boot());
    let here = match server {
        Server::One(_) => Some(keys.group(group)),
        Server::Cluster(_) => None,
    };
    let call = Call::new(&script::JOIN)
        .keys([keys.session(session), keys.groups_of(session)])
        .keys(here)
        .arg(session)
        .arg(group);
    let answer = server.run(Lane::Others, &call, backend.limit()).await?;
    if is_expired(&answer) {
        return Ok(Joined::Expired);
    }
    match server {
        Server::One(_) => return Ok(Joined::Member),
        Server::Cluster(_) => {}
    }
    let Some([remaining, lease]) = list(&answer) else { return Err(unreadable(backend.place())) };
    let (Some(remaining), Some(lease)) = (left(remaining), span(lease)) else {
        return Err(unreadable(backend.place()));
    };
    // The session lives that long; after it nothing is sent, and a late answer is worth nothing.
    let left = || (begun + remaining).saturating_sub(since_boot());
    if left().is_zero() {
        return Err(too_late(backend));
    }
    let call = Call::new(&script::ENROLL).key(keys.group(group)).arg(session).arg(lease.as_millis());
    server.run(Lane::Others, &call, backend.limit_of_part(lease).min(left())).await?;
    if left().is_zero() {
        return Err(too_late(backend));
    }
    Ok(Joined::Member)
}

pub(super) async fn leave(
    backend: &RedisBackend,
    session: &SessionId,
    group: &GroupName,
) -> Result<(), BackendError> {
    let (keys, server) = (backend.keys(), backend.server());
    let call = Call::new(&script::LEAVE).key(keys.group(group)).arg(session);
    server.run(Lane::Others, &call, backend.limit()).await?;
    let call = Call::new(&script::UNLIST).key(keys.groups_of(session)).arg(group);
    server.run(Lane::Others, &call, backend.limit()).await?;
    Ok(())
}

pub(super) async fn members(backend: &RedisBackend, group: &GroupName) -> Result<Vec<Member>, BackendError> {
    let call = Call::new(&script::MEMBERS).key(backend.keys().group(group));
    let answer = backend.server().run(Lane::Others, &call, backend.limit()).await?;
    let listed = list(&answer).ok_or_else(|| unreadable(backend.place()))?;
    let described = describe(backend, listed.iter().filter_map(parsed).collect()).await?;
    let live = described.into_iter().filter_map(|(session, metadata)| Some((session, metadata?)));
    Ok(live.map(|(session, metadata)| Member { session, metadata }).collect())
}
