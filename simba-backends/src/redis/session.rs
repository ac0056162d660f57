//! Sessions: open, keep alive, close.

use std::time::Duration;

use redis::Value;
use tracing::debug;

use super::{
    RedisBackend,
    node::Lane,
    parts::{MOST, Part, all, parts},
    reply::{self, is_expired, left, list, names, parsed, span, text, unreadable},
    script::{self, Call},
    server::Server,
};
use crate::{
    BackendError, GroupName, KeepAlive, LeaseName, Metadata, Opened, SessionId, Token, clock::since_boot,
};

/// A lease in milliseconds, as scripts get it.
pub(super) fn millis(lease: Duration) -> Result<u64, BackendError> {
    /// No lease is longer, so that Lua's numbers count every time exactly.
    const LONGEST: u64 = 100 * 366 * 24 * 3600 * 1000;
    match u64::try_from(lease.as_millis()).unwrap_or(LONGEST).min(LONGEST) {
        0 | 1 => Err(BackendError::config("Redis counts in milliseconds: a lease is at least 2 ms")),
        millis => Ok(millis),
    }
}

pub(super) async fn open(
    backend: &RedisBackend,
    lease: Duration,
    metadata: &Metadata,
) -> Result<Opened, BackendError> {
    let session = SessionId::random();
    let call = Call::new(&script::OPEN)
        .key(backend.keys().session(&session))
        .arg(millis(lease)?)
        .arg(metadata.as_str());
    // Where no keep-alive could be sent no session is to live: it would win leases and let each run out.
    let answer = backend.server().run(Lane::KeepAlive, &call, backend.limit()).await?;
    let remaining = left(&answer).ok_or_else(|| unreadable(backend.place()))?;
    Ok(Opened { session, remaining })
}

/// A session that was renewed, and what it may have.
struct Renewed {
    answered_at: Duration,
    remaining: Duration,
    server_elapsed: Duration,
    owned: Vec<(LeaseName, Token)>,
    unknown: Vec<LeaseName>,
    /// Listed names that were not looked at yet.
    rest: Vec<LeaseName>,
    groups: Vec<GroupName>,
    rest_of_groups: Vec<GroupName>,
}

pub(super) async fn keep_alive(
    backend: &RedisBackend,
    session: &SessionId,
    lease: Duration,
) -> Result<KeepAlive, BackendError> {
    let sent_at = since_boot();
    let renewed = match backend.server() {
        Server::One(_) => renew_with_all(backend, session, lease).await?,
        Server::Cluster(_) => renew_alone(backend, session, lease).await?,
    };
    let Some(renewed) = renewed else {
        backend.known().ended(session);
        return Ok(KeepAlive::Expired);
    };
    let extension = Extension { backend, session, until: renewed.answered_at + renewed.remaining, lease };
    Ok(extension.complete(renewed, sent_at).await)
}

/// Where one server has all keys, a session and its first thousand leases are renewed in one step.
async fn renew_with_all(
    backend: &RedisBackend,
    session: &SessionId,
    lease: Duration,
) -> Result<Option<Renewed>, BackendError> {
    let keys = backend.keys();
    let call = Call::new(&script::KEEP_ALIVE)
        .keys([keys.session(session), keys.leases_of(session), keys.groups_of(session)])
        .arg(session)
        .arg(millis(lease)?)
        .arg(MOST)
        .arg(keys.prefix());
    let answer = backend.server().run_replicated(Lane::KeepAlive, &call, backend.limit()).await?;
    let answered_at = since_boot();
    if is_expired(&answer) {
        return Ok(None);
    }
    let read = || {
        let [remaining, elapsed, held, corrupt, rest, groups] = list(&answer)? else { return None };
        let held = list(held)?.chunks_exact(2);
        Some(Renewed {
            answered_at,
            remaining: left(remaining)?,
            server_elapsed: span(elapsed)?,
            owned: held.filter_map(|pair| Some((parsed(&pair[0])?, reply::token(&pair[1])?))).collect(),
            unknown: names(corrupt)?,
            rest: names(rest)?,
            groups: names(groups)?,
            rest_of_groups: Vec::new(),
        })
    };
    read().map(Some).ok_or_else(|| unreadable(backend.place()))
}

/// On a cluster a session is renewed alone, and its indexes are read at the same time: each call has one key, so that a
/// slot may be on the move for as long as it likes.
async fn renew_alone(
    backend: &RedisBackend,
    session: &SessionId,
    lease: Duration,
) -> Result<Option<Renewed>, BackendError> {
    let (keys, millis) = (backend.keys(), millis(lease)?);
    let call = Call::new(&script::RENEW).key(keys.session(session)).arg(millis);
    let renew = async {
        let answer = backend.server().run(Lane::KeepAlive, &call, backend.limit()).await?;
        Ok::<_, BackendError>((answer, since_boot()))
    };
    let (answer, rest, rest_of_groups) = tokio::join!(
        renew,
        listed(backend, Lane::KeepAlive, keys.leases_of(session), millis),
        listed(backend, Lane::KeepAlive, keys.groups_of(session), millis),
    );
    let (answer, answered_at) = answer?;
    if is_expired(&answer) {
        return Ok(None);
    }
    let (rest, rest_of_groups) = (rest?, rest_of_groups?);
    let read = || {
        let [remaining, elapsed] = list(&answer)? else { return None };
        let (owned, unknown, groups) = (Vec::new(), Vec::new(), Vec::new());
        let (remaining, server_elapsed) = (left(remaining)?, span(elapsed)?);
        Some(Renewed { answered_at, remaining, server_elapsed, owned, unknown, rest, groups, rest_of_groups })
    };
    read().map(Some).ok_or_else(|| unreadable(backend.place()))
}

/// What an index lists; it is kept for a session with such a lease, in milliseconds.
async fn listed<T: std::str::FromStr>(
    backend: &RedisBackend,
    lane: Lane,
    index: String,
    lease: u64,
) -> Result<Vec<T>, BackendError> {
    let call = Call::new(&script::LIST).key(index).arg(lease);
    let answer = backend.server().run(lane, &call, backend.limit()).await?;
    names(&answer).ok_or_else(|| unreadable(backend.place()))
}

/// Extends what a renewed session has elsewhere. Only durations travel: what the session had left when it answered,
/// less the time since, measured here.
struct Extension<'a> {
    backend: &'a RedisBackend,
    session: &'a SessionId,
    until: Duration,
    lease: Duration,
}

impl Extension<'_> {
    async fn complete(&self, renewed: Renewed, sent_at: Duration) -> KeepAlive {
        let Renewed {
            remaining,
            server_elapsed,
            mut owned,
            mut unknown,
            rest,
            mut groups,
            rest_of_groups,
            ..
        } = renewed;
        let (rest, released) = self.backend.known().sort(self.session, rest);
        let (leases, memberships) = tokio::join!(self.leases(rest), self.memberships(rest_of_groups));
        let mut lost = released;
        for (names, answer) in leases {
            let answers = answer.as_ref().ok().and_then(list).unwrap_or(&[]);
            for (i, name) in names.into_iter().enumerate() {
                let answer = answers.get(i);
                if answer.and_then(text) == Some("lost") {
                    lost.push(name);
                } else if let Some(token) = answer.and_then(reply::token) {
                    owned.push((name, token));
                } else {
                    // No answer, or a lease that is corrupt.
                    unknown.push(name);
                }
            }
        }
        groups.extend(memberships);
        self.forget(lost, sent_at).await;
        KeepAlive::Live {
            remaining: remaining.min(self.lease),
            owned,
            unknown,
            groups,
            server_elapsed: Some(server_elapsed),
        }
    }

    async fn leases(&self, names: Vec<LeaseName>) -> Vec<(Vec<LeaseName>, Result<Value, BackendError>)> {
        let keys = self.backend.keys();
        let parts = parts(self.backend.server(), names, |name| keys.lease(name));
        let calls = parts.into_iter().map(async |Part { keys: leases, items: names }| {
            let index = match self.backend.server() {
                Server::One(_) => Some(keys.leases_of(self.session)),
                Server::Cluster(_) => None,
            };
            let call = |left| Call::new(&script::EXTEND).keys(leases).keys(index).arg(self.session).arg(left);
            let answer = self.extend(|left| call(left).arg(names.len())).await;
            (names, answer)
        });
        all(calls).await
    }

    /// Those in which the session still is. One that did not answer counts: it may be.
    async fn memberships(&self, groups: Vec<GroupName>) -> Vec<GroupName> {
        let keys = self.backend.keys();
        let parts = parts(self.backend.server(), groups, |group| keys.group(group));
        let calls = parts.into_iter().map(async |Part { keys, items: groups }| {
            let answer = self
                .extend(|left| Call::new(&script::EXTEND_MEMBERSHIPS).keys(keys).arg(self.session).arg(left));
            let answer = answer.await;
            let answers = answer.as_ref().ok().and_then(list).unwrap_or(&[]).to_vec();
            let is_in = move |i: usize| answers.get(i).is_none_or(|answer| *answer == Value::Int(1));
            groups
                .into_iter()
                .enumerate()
                .filter(|(i, _)| is_in(*i))
                .map(|(_, group)| group)
                .collect::<Vec<_>>()
        });
        all(calls).await.concat()
    }

    async fn extend(&self, call: impl FnOnce(u128) -> Call) -> Result<Value, BackendError> {
        let left = self.until.saturating_sub(since_boot());
        if left.is_zero() {
            return Err(BackendError::timeout("what the session had left is over"));
        }
        let limit = self.backend.limit_of_part(self.lease).min(left);
        // Whole milliseconds, and one more for the part of one that the other server's clock has cut off: no lease
        // ends before its session.
        let millis = left.as_micros().div_ceil(1000) + 1;
        self.backend.server().run_replicated(Lane::KeepAlive, &call(millis), limit).await
    }

    /// Takes what is not held out of the index. If that fails the next keep-alive does it.
    async fn forget(&self, lost: Vec<LeaseName>, sent_at: Duration) {
        match self.backend.server() {
            // There the scripts have done it.
            Server::One(_) => return,
            Server::Cluster(_) if lost.is_empty() => return,
            Server::Cluster(_) => {}
        }
        let change = self.backend.known().lost(self.session, lost, sent_at, self.lease);
        let keys = self.backend.keys();
        for gone in change.gone.chunks(MOST) {
            let call = Call::new(&script::FORGET)
                .keys([keys.session(self.session), keys.leases_of(self.session)])
                .arg(change.number())
                .args(gone);
            let limit = self.backend.limit_of_part(self.lease);
            if let Err(error) = self.backend.server().run(Lane::KeepAlive, &call, limit).await {
                return debug!(session = %self.session, %error, "released names still listed");
            }
        }
    }
}

/// The session ends first, so that it is granted nothing any more; what it has is freed; its indexes go last, so that
/// a close that failed can be done again.
pub(super) async fn close(backend: &RedisBackend, session: &SessionId) -> Result<(), BackendError> {
    let (keys, server) = (backend.keys(), backend.server());
    let indexes = [keys.leases_of(session), keys.groups_of(session)];
    // Also where it fails or is given up: the session is asked for nothing any more, and its memory would stay.
    backend.known().ended(session);
    server.run(Lane::Others, &Call::new(&script::CLOSE).key(keys.session(session)), backend.limit()).await?;
    let [leases, groups] = indexes.clone();
    let (leases, groups) = tokio::try_join!(
        listed::<LeaseName>(backend, Lane::Others, leases, 0),
        listed::<GroupName>(backend, Lane::Others, groups, 0)
    )?;
    tokio::try_join!(
        free(backend, session, leases.iter().map(|name| keys.lease(name)).collect(), Kind::Lease),
        free(backend, session, groups.iter().map(|group| keys.group(group)).collect(), Kind::Group)
    )?;
    let drop =
        async |index| server.run(Lane::Others, &Call::new(&script::DROP).key(index), backend.limit()).await;
    let [leases, groups] = indexes;
    tokio::try_join!(drop(leases), drop(groups))?;
    Ok(())
}

#[derive(Clone, Copy)]
enum Kind {
    Lease,
    Group,
}

async fn free(
    backend: &RedisBackend,
    session: &SessionId,
    keys: Vec<String>,
    kind: Kind,
) -> Result<(), BackendError> {
    let parts = parts(backend.server(), keys, String::clone);
    let calls = parts.into_iter().map(async |Part { keys, .. }| {
        let leases = match kind {
            Kind::Lease => keys.len(),
            Kind::Group => 0,
        };
        let call = Call::new(&script::FREE).keys(keys).arg(session).arg(leases);
        backend.server().run(Lane::Others, &call, backend.limit()).await
    });
    let answers: Vec<_> = all(calls).await;
    // All were sent; one that failed makes the whole close be done again.
    answers.into_iter().try_for_each(|answer| answer.map(|_| ()))
}

/// What sessions say about their processes, in their order; none for one that is gone.
pub(super) async fn describe(
    backend: &RedisBackend,
    sessions: Vec<SessionId>,
) -> Result<Vec<(SessionId, Option<Metadata>)>, BackendError> {
    let keys = backend.keys();
    let parts = parts(backend.server(), sessions, |session| keys.session(session));
    let calls = parts.into_iter().map(async |Part { keys, items: sessions }| {
        let call = Call::new(&script::DESCRIBE).keys(keys);
        let answer = backend.server().run(Lane::Others, &call, backend.limit()).await?;
        let answers = list(&answer).ok_or_else(|| unreadable(backend.place()))?;
        let said =
            answers.iter().map(|said| text(said).map(|said| Metadata::try_from(said).unwrap_or_default()));
        Ok(sessions.into_iter().zip(said).collect::<Vec<_>>())
    });
    let answers: Vec<Result<Vec<_>, BackendError>> = all(calls).await;
    let mut described = Vec::new();
    for answer in answers {
        described.extend(answer?);
    }
    described.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    Ok(described)
}

/// The error for an answer that is worth nothing: what the session had left is over.
pub(super) fn too_late(backend: &RedisBackend) -> BackendError {
    BackendError::timeout(format!("{} answered when the session's time was over", backend.place()))
}

/// The error for a lease that holds what Simba cannot have written.
pub(super) fn corrupt(backend: &RedisBackend, what: Option<&str>) -> BackendError {
    what.map_or_else(|| unreadable(backend.place()), |what| reply::corrupt(backend.place(), what))
}
