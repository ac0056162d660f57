//! Leases: acquire and inspect.

use std::collections::BTreeSet;

use sqlx::postgres::PgRow;

use super::{
    PostgresBackend, column, error,
    message::{PRELUDE, now},
    take,
};
use crate::{
    Acquired, Acquisition, BackendError, Holder, LeaseName, SessionId, Token,
    sql::{self, integer, literal},
};

/// Into how many parts a message is split that waited for a lock in vain: two steps lead to a single name.
const PARTS: usize = 32;

/// After so many messages that waited in vain the rest of the call is not tried any more.
const MOST_WAITS: u32 = 16;

pub(super) async fn acquire(
    backend: &PostgresBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    let names: Vec<LeaseName> = names.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let mut parts: Vec<&[LeaseName]> = names.chunks(sql::CHUNK).rev().collect();
    let mut call = Call::default();
    while let Some(part) = parts.pop() {
        match take::names(backend, session, part).await {
            Ok(Acquired::Answers(answers)) => call.add(answers),
            Ok(Acquired::Expired) => return Ok(Acquired::Expired),
            Err(error) if error::is_locked(&error) && call.waits < MOST_WAITS => {
                call.waits += 1;
                match part {
                    [_] => call.fail(part, &error),
                    part => parts.extend(part.chunks(part.len().div_ceil(PARTS)).rev()),
                }
            }
            Err(error) => {
                call.fail(part, &error);
                parts.drain(..).for_each(|part| call.fail(part, &error));
            }
        }
    }
    call.end()
}

/// The answers of a call so far.
#[derive(Default)]
struct Call {
    answers: Vec<(LeaseName, Acquisition)>,
    waits: u32,
    is_answered: bool,
}

impl Call {
    fn add(&mut self, answers: Vec<(LeaseName, Acquisition)>) {
        self.is_answered = true;
        self.answers.extend(answers);
    }

    fn fail(&mut self, names: &[LeaseName], error: &BackendError) {
        self.answers.extend(names.iter().map(|name| (name.clone(), Acquisition::Failed(error.clone()))));
    }

    /// Where no name was answered for, the call itself has failed.
    fn end(self) -> Result<Acquired, BackendError> {
        match self.answers.last() {
            Some((_, Acquisition::Failed(error))) if !self.is_answered => Err(error.clone()),
            Some(_) | None => Ok(Acquired::Answers(self.answers)),
        }
    }
}

/// The holder, dead or alive, if there is one, and the token of a stored lease.
pub(super) fn stored(name: &LeaseName, row: &PgRow) -> Result<(Option<SessionId>, Token), BackendError> {
    let corrupt = |what| sql::corrupt("simba_lease", name.as_str(), what);
    let token = sql::token(row, "token").ok_or_else(|| corrupt("its token is no positive integer"))?;
    let holder = column(row, "session_id").ok_or_else(|| corrupt("its session_id is no text"))?;
    if holder.is_empty() {
        return Ok((None, token));
    }
    Ok((Some(sql::session(&holder, "simba_lease", name.as_str())?), token))
}

pub(super) async fn inspect(
    backend: &PostgresBackend,
    name: &LeaseName,
) -> Result<Option<Holder>, BackendError> {
    let select = format!(
        concat!(
            "select l.session_id, l.token, s.metadata, s.expires_at, ",
            now!(),
            " as now from simba_lease l left join simba_session s on s.session_id = l.session_id
            where l.name = {name}"
        ),
        name = literal(name)
    );
    let answer = backend.server().call(backend.patient(&select)).await?;
    let Some(found) = answer.rows(PRELUDE).first() else { return Ok(None) };
    let (Some(session), token) = stored(name, found)? else { return Ok(None) };
    match integer(found, "expires_at").zip(integer(found, "now")) {
        Some((expires_at, now)) if expires_at > now => {
            let metadata = sql::metadata(sql::text(found, "metadata"), &session)?;
            Ok(Some(Holder { session, metadata, token, free_in: Some(sql::span(expires_at, now)) }))
        }
        Some(_) | None => Ok(None),
    }
}
