//! Leases: release.

use std::collections::BTreeSet;

use super::{
    PostgresBackend,
    message::{PRELUDE, array},
    plan::Statement,
};
use crate::{
    BackendError, ErrorKind, LeaseName, Outcome, Release, SessionId, Token,
    sql::{self, literal},
};

pub(super) async fn release(
    backend: &PostgresBackend,
    session: &SessionId,
    leases: &[(LeaseName, Token)],
) -> Result<Vec<(LeaseName, Release)>, BackendError> {
    sql::release_in_chunks(leases, |leases| release_chunk(backend, session, leases)).await
}

/// What a session holds of these names with these tokens. Found by name: the index of sessions may have an
/// entry for each term that the session ever had.
macro_rules! held {
    ($what:literal) => {
        concat!(
            "select ",
            $what,
            " from simba_lease l join unnest($2, $3) a(name, token) on a.name = l.name and a.token = l.token
            where l.session_id::text = $1"
        )
    };
}

pub(super) const HELD: Statement =
    Statement { name: "simba_held", types: "text, text[], bigint[]", sql: held!("l.name, l.token") };

/// A lease whose row is locked is not waited for; after the commit it is still there.
pub(super) const FREE: Statement = Statement {
    name: "simba_free",
    types: "text, text[], bigint[]",
    sql: concat!(
        "with locked as materialized (",
        held!("l.ctid as place"),
        " for no key update of l skip locked)
        update simba_lease l set session_id = '' from locked where l.ctid = locked.place"
    ),
};

async fn release_chunk(
    backend: &PostgresBackend,
    session: &SessionId,
    leases: Vec<(LeaseName, Token)>,
) -> Result<Vec<(LeaseName, Release)>, BackendError> {
    let (id, names) = (literal(session), array(leases.iter().map(|(name, _)| name)));
    let tokens: Vec<String> = leases.iter().map(|(_, token)| token.to_string()).collect();
    let tokens = format!("'{{{}}}'::bigint[]", tokens.join(","));
    let with = |statement: &Statement| statement.with(&[&id, &names, &tokens], backend.shared.plans);
    let message = format!("{}; {}", backend.patient(&with(&FREE)), with(&HELD));
    let answer = backend.server().call(message).await?;

    let pair = |row| Some((sql::text(row, "name")?.parse().ok()?, sql::token(row, "token")?));
    let locked: BTreeSet<(LeaseName, Token)> = answer.rows(PRELUDE + 2).iter().filter_map(pair).collect();
    let freed = leases.iter().filter(|lease| !locked.contains(lease)).map(|(name, _)| name.clone());
    backend.shared.freed.tell(backend, freed);
    Ok(leases
        .iter()
        .map(|lease| {
            let answer =
                if locked.contains(lease) { Release::Failed(is_locked(&lease.0)) } else { Release::Gone };
            (lease.0.clone(), answer)
        })
        .collect())
}

fn is_locked(name: &LeaseName) -> BackendError {
    BackendError::new(
        ErrorKind::Timeout,
        Outcome::NotApplied,
        format!("the row of {name} in simba_lease is locked by somebody else"),
    )
}
