//! The purge: removes what dead sessions left, never a token.

use tracing::{debug, warn};

use super::{
    SqliteBackend,
    message::{Message, now},
};
use crate::{BackendError, sql};

/// Whether there is anything to do: most purges find nothing, and must not take the lock for that.
const LOOK: &str = concat!(
    "select exists (select 1 from simba_session where expires_at <= ",
    now!(),
    ") or exists (select 1 from simba_member m where not exists
        (select 1 from simba_session s where s.session_id = m.session_id))
    or exists (select 1 from simba_lease l where l.session_id > '' and not exists
        (select 1 from simba_session s where s.session_id = l.session_id)) as found"
);

/// A lease whose session_id is malformed is left as evidence.
const PURGE: &str = concat!(
    "begin immediate;
    delete from simba_session where session_id in
        (select session_id from simba_session where expires_at <= ",
    now!(),
    " order by expires_at limit 1000);
    delete from simba_member where not exists
        (select 1 from simba_session s where s.session_id = simba_member.session_id);
    update simba_lease set session_id = '' where session_id > ''
        and session_id not glob '*[^A-Za-z0-9]*' and length(session_id) <= 32
        and not exists (select 1 from simba_session s where s.session_id = simba_lease.session_id);
    commit"
);

/// Begins a purge in the background if one is due: the call that it follows is already answered.
pub(super) fn when_due(backend: &SqliteBackend, now: i64) {
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

async fn run(backend: &SqliteBackend) -> Result<(), BackendError> {
    let answer = backend.shared.reads.run(Message::new(LOOK)).await?;
    if answer.rows(0).first().and_then(|row| sql::integer(row, "found")) == Some(1) {
        backend.shared.writes.run(Message::new(PURGE)).await?;
        backend.shared.freed.tell_all();
    }
    Ok(())
}
