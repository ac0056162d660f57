//! Leases: acquire, release, inspect.

use std::collections::BTreeMap;

use sqlx::sqlite::SqliteRow;

use super::{
    SqliteBackend,
    message::{Message, json, now},
};
use crate::{
    Acquired, Acquisition, BackendError, Holder, LeaseName, Release, SessionId, Token,
    sql::{self, integer, text, token},
};

/// What stands on each name, and on the asker (`mine`). A plain read: who finds a live holder takes no lock.
const LOOK: &str = concat!(
    "select j.value as name, l.name as known, l.session_id, l.token, s.expires_at,
        mine.expires_at as mine, ",
    now!(),
    " as now
    from json_each(?1) j
    left join simba_lease l on l.name = j.value
    left join simba_session s on s.session_id = l.session_id
    left join simba_session mine on mine.session_id = ?2"
);

/// Takes each name that nobody holds. Everything that the read saw is checked again under the lock; a name
/// that is not returned was not taken.
const TAKE: &str = concat!(
    "insert into simba_lease (name, session_id, token)
    select j.value, ?2, 1 from json_each(?1) j
    where exists (select 1 from simba_session where session_id = ?2 and expires_at > ",
    now!(),
    ")
    on conflict (name) do update set session_id = excluded.session_id, token = simba_lease.token + 1
    where typeof(simba_lease.token) = 'integer'
        and simba_lease.token between 1 and 9223372036854775806
        and not exists (select 1 from simba_session s
            where s.session_id = simba_lease.session_id and s.expires_at > ",
    now!(),
    ")
    returning name, token,
        (select expires_at from simba_session where session_id = ?2) as expires_at, ",
    now!(),
    " as now"
);

/// `+session_id` keeps SQLite from walking through all that the session holds.
const RELEASE: &str = "update simba_lease set session_id = ''
    where (name, token) in (select j.value ->> 0, j.value ->> 1 from json_each(?1) j)
        and +session_id = ?2";

const INSPECT: &str = concat!(
    "select l.session_id, l.token, s.metadata, s.expires_at, ",
    now!(),
    " as now
    from simba_lease l left join simba_session s on s.session_id = l.session_id where l.name = ?1"
);

/// What a read says about a name.
enum Seen {
    /// Nobody holds it.
    Free,
    Answer(Acquisition),
}

pub(super) async fn acquire(
    backend: &SqliteBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    sql::acquire_in_chunks(names, |names| async move { acquire_chunk(backend, session, &names).await }).await
}

/// One read, and one write if the read saw a free name. Who lost a race then reads who won it.
async fn acquire_chunk(
    backend: &SqliteBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    let Some(seen) = look(backend, session, names).await? else { return Ok(Acquired::Expired) };
    let (mut answers, free) = split(seen);
    if free.is_empty() {
        return Ok(Acquired::Answers(answers));
    }
    let granted = take(backend, session, &free).await?;
    let lost: Vec<LeaseName> = free.into_iter().filter(|name| !granted.contains_key(name)).collect();
    if !lost.is_empty() {
        match look(backend, session, &lost).await {
            Ok(None) => return Ok(Acquired::Expired),
            Ok(Some(seen)) => answers.extend(seen.into_iter().map(|(name, seen)| (name, settled(seen)))),
            Err(error) => {
                answers.extend(lost.into_iter().map(|name| (name, Acquisition::Failed(error.clone()))));
            }
        }
    }
    answers.extend(granted);
    Ok(Acquired::Answers(answers))
}

fn split(seen: Vec<(LeaseName, Seen)>) -> (Vec<(LeaseName, Acquisition)>, Vec<LeaseName>) {
    let mut answers = Vec::new();
    let mut free = Vec::new();
    for (name, seen) in seen {
        match seen {
            Seen::Free => free.push(name),
            Seen::Answer(answer) => answers.push((name, answer)),
        }
    }
    (answers, free)
}

/// What was free before and after, but not in between, was held for that long.
fn settled(seen: Seen) -> Acquisition {
    match seen {
        Seen::Free => Acquisition::Held { free_in: None },
        Seen::Answer(answer) => answer,
    }
}

/// What a read says about each name, or `None` where the session has expired.
async fn look(
    backend: &SqliteBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Option<Vec<(LeaseName, Seen)>>, BackendError> {
    let message = Message::new(LOOK).text(json(names)).text(session);
    let answer = backend.shared.reads.run(message).await?;
    let rows = answer.rows(0);
    let lives = |row: &SqliteRow| integer(row, "mine") > integer(row, "now");
    if backend.shared.homes.is_lost(session, answer.file) || !rows.iter().all(lives) {
        return Ok(None);
    }
    let named = |row| Some((text(row, "name")?.parse().ok()?, row));
    let seen = rows.iter().filter_map(named).map(|(name, row)| {
        let seen = seen(&name, session, row);
        (name, seen)
    });
    Ok(Some(seen.collect()))
}

fn seen(name: &LeaseName, asker: &SessionId, row: &SqliteRow) -> Seen {
    if text(row, "known").is_none() {
        return Seen::Free;
    }
    let (holder, token) = match stored(name, row) {
        Ok(stored) => stored,
        Err(error) => return Seen::Answer(Acquisition::Failed(error)),
    };
    let now = integer(row, "now").unwrap_or_default();
    let expires_at = integer(row, "expires_at").unwrap_or_default();
    match holder {
        Some(holder) if holder == *asker => {
            Seen::Answer(Acquisition::AlreadyOwned { token, remaining: sql::left(expires_at, now) })
        }
        Some(_) if expires_at > now => {
            Seen::Answer(Acquisition::Held { free_in: Some(sql::span(expires_at, now)) })
        }
        Some(_) | None if token.as_i64() == i64::MAX => {
            let what = "its token has no successor";
            Seen::Answer(Acquisition::Failed(sql::corrupt("simba_lease", name.as_str(), what)))
        }
        Some(_) | None => Seen::Free,
    }
}

/// The holder, if there is one, and the token of a stored lease.
fn stored(name: &LeaseName, row: &SqliteRow) -> Result<(Option<SessionId>, Token), BackendError> {
    let corrupt = |what| sql::corrupt("simba_lease", name.as_str(), what);
    let token = token(row, "token").ok_or_else(|| corrupt("its token is no positive integer"))?;
    let holder = text(row, "session_id").ok_or_else(|| corrupt("its session_id is no text"))?;
    if holder.is_empty() {
        return Ok((None, token));
    }
    Ok((Some(sql::session(&holder, "simba_lease", name.as_str())?), token))
}

async fn take(
    backend: &SqliteBackend,
    session: &SessionId,
    free: &[LeaseName],
) -> Result<BTreeMap<LeaseName, Acquisition>, BackendError> {
    let message = Message::new(TAKE).text(json(free)).text(session);
    let answer = backend.shared.writes.run(message).await?;
    let granted = |row: &SqliteRow| {
        let remaining = sql::left(integer(row, "expires_at")?, integer(row, "now")?);
        let grant = Acquisition::Granted { token: token(row, "token")?, remaining };
        Some((text(row, "name")?.parse().ok()?, grant))
    };
    Ok(answer.rows(0).iter().filter_map(granted).collect())
}

pub(super) async fn release(
    backend: &SqliteBackend,
    session: &SessionId,
    leases: &[(LeaseName, Token)],
) -> Result<Vec<(LeaseName, Release)>, BackendError> {
    sql::release_in_chunks(leases, |leases| release_chunk(backend, session, leases)).await
}

async fn release_chunk(
    backend: &SqliteBackend,
    session: &SessionId,
    leases: Vec<(LeaseName, Token)>,
) -> Result<Vec<(LeaseName, Release)>, BackendError> {
    let pairs: Vec<String> = leases.iter().map(|(name, token)| format!("[\"{name}\",{token}]")).collect();
    let message = Message::new(RELEASE).text(format!("[{}]", pairs.join(","))).text(session);
    backend.shared.writes.run(message).await?;
    backend.shared.freed.tell(leases.iter().map(|(name, _)| name.clone()).collect());
    Ok(leases.into_iter().map(|(name, _)| (name, Release::Gone)).collect())
}

pub(super) async fn inspect(
    backend: &SqliteBackend,
    name: &LeaseName,
) -> Result<Option<Holder>, BackendError> {
    let answer = backend.shared.reads.run(Message::new(INSPECT).text(name)).await?;
    let Some(found) = answer.rows(0).first() else { return Ok(None) };
    let (Some(session), token) = stored(name, found)? else { return Ok(None) };
    let (expires_at, now) = (integer(found, "expires_at"), integer(found, "now"));
    match expires_at.zip(now) {
        Some((expires_at, now)) if expires_at > now => {
            let metadata = sql::metadata(text(found, "metadata"), &session)?;
            Ok(Some(Holder { session, metadata, token, free_in: Some(sql::span(expires_at, now)) }))
        }
        Some(_) | None => Ok(None),
    }
}
