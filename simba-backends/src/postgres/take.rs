//! Taking what nobody holds, as one message.

use sqlx::postgres::PgRow;

use super::{
    PostgresBackend, column,
    lease::stored,
    message::{PRELUDE, array, now},
    plan::Statement,
};
use crate::{
    Acquired, Acquisition, BackendError, LeaseName, SessionId,
    sql::{self, Seen, integer, literal},
};

/// How long the insert of a name may wait, in milliseconds: another attempt may be inserting it at the moment,
/// and commits or not within a few. Nothing else here waits.
const WAIT: u128 = 200;

/// Names that were never acquired before. In order, so that two who insert the same ones cannot deadlock.
pub(super) const INSERT: Statement = Statement {
    name: "simba_insert",
    types: "unknown, text[]",
    sql: concat!(
        "insert into simba_lease (name, session_id, token)
        select a.name, s.session_id, 1 from simba_session s cross join unnest($2) a(name)
        where s.session_id = $1 and s.expires_at > ",
        now!(),
        " and not exists (select 1 from simba_lease l where l.name = a.name)
        order by a.name collate \"C\" on conflict (name) do nothing"
    ),
};

/// Names that nobody holds. `free` locks the leases that are free, as they are now. `seen` are those whose holder
/// is dead or gone in the statement's snapshot; a malformed holder is left as evidence. `dead` locks the sessions
/// of the dead ones, so that a keep-alive that is under way either has come first or comes to see the lease gone.
/// `left_behind` locks their leases: each must still have the very holder and token that were seen, because the session
/// of a newer holder may be younger than the snapshot, and would seem to be gone. Whoever has a lock is not waited
/// for. The asker's own session needs none.
///
/// The casts keep the planner from the index of sessions, to which all that is free is one value.
pub(super) const TAKE: Statement = Statement {
    name: "simba_take",
    types: "unknown, text[]",
    sql: concat!(
        "with clock as materialized (select ",
        now!(),
        " as now),
    free as materialized (
        select l.ctid as place from simba_lease l
        where l.name = any ($2) and l.session_id::text = '' and l.token between 1 and 9223372036854775806
        for no key update of l skip locked),
    seen as materialized (
        select l.name, l.session_id, l.token, s.session_id is not null as is_known
        from simba_lease l cross join clock left join simba_session s on s.session_id = l.session_id
        where l.name = any ($2) and l.token between 1 and 9223372036854775806
            and l.session_id::text collate \"C\" ~ '^[A-Za-z0-9]{1,32}$'
            and (s.session_id is null or s.expires_at <= clock.now)),
    dead as materialized (
        select s.session_id from simba_session s cross join clock
        where s.session_id in (select session_id from seen where is_known) and s.expires_at <= clock.now
        for share of s skip locked),
    left_behind as materialized (
        select l.ctid as place from simba_lease l join seen
            on seen.name = l.name and seen.session_id::text = l.session_id::text and seen.token = l.token
        where not seen.is_known or l.session_id in (select session_id from dead)
        for no key update of l skip locked)
    update simba_lease l set session_id = $1, token = l.token + 1
    from (select place from free union all select place from left_behind) locked
    where l.ctid = locked.place and exists (select 1 from simba_session s cross join clock
        where s.session_id = $1 and s.expires_at > clock.now)"
    ),
};

/// The transaction that wrote, if it did: rows have its number.
const TRANSACTION: &str = "select pg_current_xact_id_if_assigned()::text as xact";

/// What stands on each name after the commit, and on the asker (`mine`). No row is sent while there is a lock:
/// the server waits for a client that reads none.
pub(super) const LOOK: Statement = Statement {
    name: "simba_look",
    types: "unknown, text[]",
    sql: concat!(
        "select a.name, l.session_id, l.token, l.xmin::text as xmin, s.expires_at, clock.now,
        (select expires_at from simba_session where session_id = $1) as mine
    from unnest($2) a(name) cross join (select ",
        now!(),
        " as now) clock
    left join simba_lease l on l.name = a.name
    left join simba_session s on s.session_id = l.session_id"
    ),
};

/// What became of each name, at most a thousand.
pub(super) async fn names(
    backend: &PostgresBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    sql::settle(names, |names| attempt(backend, session, names)).await
}

/// `None` where the session has expired.
async fn attempt(
    backend: &PostgresBackend,
    session: &SessionId,
    names: Vec<LeaseName>,
) -> Result<Option<Vec<(LeaseName, Seen)>>, BackendError> {
    let (id, names) = (literal(session), array(&names));
    let with = |statement: &Statement| statement.with(&[&id, &names], backend.shared.plans);
    let taking = format!("{}; {}; {TRANSACTION}", with(&INSERT), with(&TAKE));
    let message = format!("{}; {}", backend.transaction(WAIT, &taking), with(&LOOK));
    let answer = backend.server().call(message).await?;

    let written = answer.rows(PRELUDE + 2).first().and_then(|row| integer(row, "xact"));
    let asker = Asker { session, written: written.map(transaction_id) };
    let rows = answer.rows(PRELUDE + 4);
    if !rows.iter().all(|row| integer(row, "mine") > integer(row, "now")) {
        return Ok(None);
    }
    let named = |row| Some((sql::text(row, "name")?.parse().ok()?, row));
    let seen = rows.iter().filter_map(named).map(|(name, row)| {
        let seen = asker.see(&name, row).unwrap_or_else(|error| Seen::Answer(Acquisition::Failed(error)));
        (name, seen)
    });
    Ok(Some(seen.collect()))
}

/// As rows have it: the lower half.
fn transaction_id(full: i64) -> i64 {
    full & i64::from(u32::MAX)
}

struct Asker<'a> {
    session: &'a SessionId,
    written: Option<i64>,
}

impl Asker<'_> {
    fn see(&self, name: &LeaseName, row: &PgRow) -> Result<Seen, BackendError> {
        if column(row, "session_id").is_none() && integer(row, "xmin").is_none() {
            // Somebody has inserted the row and not committed, or deleted it.
            return Ok(Seen::Free);
        }
        let (holder, token) = stored(name, row)?;
        let now = integer(row, "now").unwrap_or_default();
        let expires_at = integer(row, "expires_at").unwrap_or_default();
        Ok(match holder {
            Some(holder) if holder == *self.session => {
                let remaining = sql::left(expires_at, now);
                let is_new = self.written.is_some() && self.written == integer(row, "xmin");
                Seen::Answer(match is_new {
                    true => Acquisition::Granted { token, remaining },
                    false => Acquisition::AlreadyOwned { token, remaining },
                })
            }
            Some(_) if expires_at > now => {
                Seen::Answer(Acquisition::Held { free_in: Some(sql::span(expires_at, now)) })
            }
            Some(_) | None if token.as_i64() == i64::MAX => {
                return Err(sql::corrupt("simba_lease", name.as_str(), "its token has no successor"));
            }
            Some(_) | None => Seen::Free,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_lower_half_of_the_transaction() {
        assert_eq!(transaction_id(759), 759);
        assert_eq!(transaction_id((7 << 32) + 759), 759);
    }
}
