//! Leases: acquire, release, inspect.

use std::collections::BTreeSet;

use sqlx::mysql::MySqlRow;

use super::{
    Lane, MySqlBackend,
    message::{self, Message, all, now},
    take,
};
use crate::{
    Acquired, BackendError, ErrorKind, Holder, LeaseName, Outcome, Release, SessionId, Token,
    sql::{self, integer, literal, text, token},
};

/// Names with the tokens that they are released with, as a table.
const LEASES: &str = "json_table(@simba_leases, '$[*]' columns (
    name varchar(128) character set ascii path '$[0]', token bigint path '$[1]'))";

pub(super) async fn acquire(
    backend: &MySqlBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    sql::acquire_in_chunks(names, |names| async move { take::names(backend, session, &names).await }).await
}

/// What a row of a lease says.
pub(super) struct Stored {
    /// The holder, dead or alive, unless the lease is free.
    pub(super) holder: Option<SessionId>,
    pub(super) token: Token,
}

impl Stored {
    pub(super) fn read(name: &LeaseName, row: &MySqlRow) -> Result<Self, BackendError> {
        let corrupt = |what| sql::corrupt("simba_lease", name.as_str(), what);
        let token = token(row, "token").ok_or_else(|| corrupt("its token is no positive integer"))?;
        let holder = text(row, "session_id").ok_or_else(|| corrupt("its session_id is no text"))?;
        if holder.is_empty() {
            return Ok(Self { holder: None, token });
        }
        Ok(Self { holder: Some(sql::session(&holder, "simba_lease", name.as_str())?), token })
    }
}

pub(super) async fn release(
    backend: &MySqlBackend,
    session: &SessionId,
    leases: &[(LeaseName, Token)],
) -> Result<Vec<(LeaseName, Release)>, BackendError> {
    sql::release_in_chunks(leases, |leases| release_chunk(backend, session, leases)).await
}

/// Releases what nobody has locked, and tells what it had to leave.
async fn release_chunk(
    backend: &MySqlBackend,
    session: &SessionId,
    leases: Vec<(LeaseName, Token)>,
) -> Result<Vec<(LeaseName, Release)>, BackendError> {
    let id = literal(session);
    let mut message = Message::default();
    message.set("@simba_leases", message::leases(&leases));
    message.add(format!(
        concat!(
            "update (select straight_join x.name
                from {leases} p join simba_lease x force index (primary) on x.name = p.name
                where x.token = p.token and x.session_id = {id} ",
            all!(),
            " {locked}) t straight_join simba_lease l force index (primary) on l.name = t.name
            set l.session_id = ''"
        ),
        leases = LEASES,
        id = id,
        locked = backend.flavour().locked("x")
    ));
    let left = message.add(format!(
        "select straight_join l.name, l.token from {LEASES} p join simba_lease l on l.name = p.name
        where l.token = p.token and l.session_id = {id}"
    ));
    let answer = backend.send(Lane::Calls, message).await?;
    backend.shared.freed.tell(leases.iter().map(|(name, _)| name.clone()).collect());
    let lease = |row: &MySqlRow| Some((text(row, "name")?, token(row, "token")?));
    let left: BTreeSet<(String, Token)> = answer.rows(left).iter().filter_map(lease).collect();
    let released = leases.into_iter().map(|(name, token)| {
        let release = match left.contains(&(name.to_string(), token)) {
            true => Release::Failed(is_locked(&name)),
            false => Release::Gone,
        };
        (name, release)
    });
    Ok(released.collect())
}

fn is_locked(name: &LeaseName) -> BackendError {
    BackendError::new(
        ErrorKind::Timeout,
        Outcome::NotApplied,
        format!(
            "the row of {name} in simba_lease is locked: find the transaction that holds it \
             (information_schema.innodb_trx) and end it"
        ),
    )
}

pub(super) async fn inspect(
    backend: &MySqlBackend,
    name: &LeaseName,
) -> Result<Option<Holder>, BackendError> {
    let mut message = Message::default();
    let lease = message.add(format!(
        concat!(
            "select l.session_id, l.token, s.metadata, s.expires_at, ",
            now!(),
            " as now from simba_lease l left join simba_session s on s.session_id = l.session_id
            where l.name = {}"
        ),
        literal(name)
    ));
    let answer = backend.send(Lane::Calls, message).await?;
    let Some(found) = answer.rows(lease).first() else { return Ok(None) };
    let Stored { holder: Some(session), token } = Stored::read(name, found)? else { return Ok(None) };
    match integer(found, "expires_at").zip(integer(found, "now")) {
        Some((expires_at, now)) if expires_at > now => {
            let metadata = sql::metadata(text(found, "metadata"), &session)?;
            Ok(Some(Holder { session, metadata, token, free_in: Some(sql::span(expires_at, now)) }))
        }
        Some(_) | None => Ok(None),
    }
}
