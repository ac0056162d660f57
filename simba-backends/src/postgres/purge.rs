//! The purge: removes what dead sessions left, never a token.

use tracing::{debug, warn};

use super::{
    PostgresBackend,
    message::{PRELUDE, now},
};
use crate::{BackendError, sql};

/// How long the purge waits for a lock on a table, in milliseconds.
const WAIT: u128 = 1000;

/// Whether there is anything to do: most purges find nothing, and must not write for that. A lease whose
/// session_id is malformed is left as evidence.
const LOOK: &str = concat!(
    "select exists (select 1 from simba_session where expires_at <= ",
    now!(),
    ") or exists (select 1 from simba_member m where not exists
        (select 1 from simba_session s where s.session_id = m.session_id)) as found;
    select name from simba_lease l where session_id > ''
        and session_id::text collate \"C\" ~ '^[A-Za-z0-9]{1,32}$' and not exists
        (select 1 from simba_session s where s.session_id = l.session_id and s.expires_at > ",
    now!(),
    ") limit 10000"
);

/// Waits for no row that somebody has locked. A lease must still have the holder that the snapshot shows: the
/// session of a newer one may be younger than the snapshot, and would seem to be gone.
const PURGE: &str = concat!(
    "delete from simba_session where session_id in
        (select session_id from simba_session where expires_at <= ",
    now!(),
    " order by expires_at limit 1000 for update skip locked);
    delete from simba_member where (group_name, session_id) in
        (select m.group_name, m.session_id from simba_member m where not exists
            (select 1 from simba_session s where s.session_id = m.session_id)
        limit 10000 for update skip locked);
    with seen as materialized (
        select name, session_id, token from simba_lease l where session_id > ''
            and session_id::text collate \"C\" ~ '^[A-Za-z0-9]{1,32}$' and not exists
            (select 1 from simba_session s where s.session_id = l.session_id)
        limit 10000),
    locked as materialized (
        select l.name from simba_lease l join seen
            on seen.name = l.name and seen.session_id::text = l.session_id::text and seen.token = l.token
        for no key update of l skip locked)
    update simba_lease l set session_id = '' from locked where l.name = locked.name"
);

/// Begins a purge in the background if one is due: the call that it follows is already answered.
pub(super) fn when_due(backend: &PostgresBackend, now: i64) {
    if !backend.shared.purge.is_due(now) {
        return;
    }
    let backend = backend.clone();
    tokio::spawn(async move {
        match run(&backend).await {
            Ok(()) => debug!("purged"),
            // The next one comes after an interval.
            Err(error) => warn!(%error, "purge failed"),
        }
    });
}

async fn run(backend: &PostgresBackend) -> Result<(), BackendError> {
    let answer = backend.server().call(backend.transaction(WAIT, LOOK)).await?;
    let found = answer.rows(PRELUDE).first().and_then(|row| sql::text(row, "found"));
    let names = answer.rows(PRELUDE + 1);
    if found.as_deref() == Some("t") || !names.is_empty() {
        backend.server().call(backend.transaction(WAIT, PURGE)).await?;
        let freed = names.iter().filter_map(|row| sql::text(row, "name")?.parse().ok());
        backend.shared.freed.tell(backend, freed);
    }
    Ok(())
}
