//! One message that acquires.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::mysql::MySqlRow;

use super::{
    Lane, MySqlBackend,
    flavour::Flavour,
    lease::Stored,
    message::{self, Message, all, now},
};
use crate::{
    Acquired, Acquisition, BackendError, LeaseName, SessionId, Token,
    sql::{self, Seen, integer, literal, text},
};

/// The names asked for, as a table.
const NAMES: &str =
    "json_table(@simba_names, '$[*]' columns (name varchar(128) character set ascii path '$'))";

/// Those of them that had no row.
const MISSING: &str =
    "json_table(@simba_missing, '$[*]' columns (name varchar(128) character set ascii path '$'))";

/// Those that nobody held: with the dead holder, the token, and whether the holder's session is gone.
const FREE: &str = "json_table(@simba_free, '$[*]' columns (
    name varchar(128) character set ascii path '$[0]', holder char(32) character set ascii path '$[1]',
    token bigint path '$[2]', is_gone int path '$[3]'))";

/// The dead holders whose sessions are still there.
const DEAD: &str = "json_table(@simba_dead, '$[*]' columns (id char(32) character set ascii path '$'))";

/// Looks, inserts what is missing, takes what is free, and looks again; the number of the last look.
fn acquire(flavour: Flavour, session: &SessionId, names: &[LeaseName], rows: Rows) -> (Message, usize) {
    let (id, list) = (literal(session), message::list(names));
    let mut message = Message::default();
    // What is ours already is looked up once, also where the message is run again.
    let call = literal(&SessionId::random());
    message.set("@simba_mine", format!("if(@simba_call = {call}, @simba_mine, null)"));
    message.set("@simba_call", call);
    match rows {
        Rows::Known => {
            message.add(look(&id, "null", &format!("simba_lease l {JOIN} where l.name in {list}")));
        }
        Rows::Unknown => {
            message.set("@simba_names", message::json(names));
            let missing = "concat('[', group_concat(case when l.name is null then concat('\"', n.name, '\"') end), ']')";
            let from = format!("{NAMES} n left join simba_lease l on l.name = n.name {JOIN}");
            message.add(look(&id, missing, &from));
            // A row that somebody has inserted but not committed is there for this one, which so does not wait.
            message.add_dirty(insert(&id));
        }
    }
    message.add(take(flavour, &id));
    let leases = message.add(format!(
        concat!(
            "select '' as name, @simba_mine as session_id, ",
            now!(),
            " as token, expires_at from simba_session where session_id = {id}
            union all
            select l.name, l.session_id, l.token, s.expires_at from simba_lease l {join} where l.name in {list}"
        ),
        id = id,
        join = JOIN,
        list = list
    ));
    (message, leases)
}

/// Whether every name is known to have a row.
#[derive(Clone, Copy)]
enum Rows {
    Known,
    Unknown,
}

const JOIN: &str = "left join simba_session s on s.session_id = l.session_id";

/// A plain read, which locks nothing (a subquery of a `set` would): what is ours already, what is missing, what
/// nobody holds, and whose dead sessions are still there.
fn look(id: &str, missing: &str, from: &str) -> String {
    format!(
        concat!(
            "select coalesce(@simba_mine, group_concat(case when l.session_id = {id} then l.name end), ''),
            {missing},
            concat('[', group_concat(case
                when l.token between 1 and 9223372036854775806
                and (l.session_id = '' or l.session_id not regexp '[^0-9A-Za-z]')
                and (s.session_id is null or s.expires_at <= ",
            now!(),
            ") and exists (select 1 from simba_session where session_id = {id} and expires_at > ",
            now!(),
            ")
                then concat('[\"', l.name, '\",\"', l.session_id, '\",', l.token, ',', s.session_id is null, ']')
            end), ']'),
            concat('[', group_concat(distinct
                case when s.expires_at <= ",
            now!(),
            " then concat('\"', s.session_id, '\"') end), ']')
            into @simba_mine, @simba_missing, @simba_free, @simba_dead from {from}"
        ),
        id = id,
        missing = missing,
        from = from
    )
}

fn insert(id: &str) -> String {
    format!(
        concat!(
            "insert ignore into simba_lease (name, session_id, token) select n.name, {id}, 1 from {missing} n
            where exists (select 1 from simba_session where session_id = {id} and expires_at > ",
            now!(),
            ") and not exists (select 1 from simba_lease l where l.name = n.name)"
        ),
        id = id,
        missing = MISSING
    )
}

/// Takes what was free, if it is as it was: the row of the lease is locked, and that of its dead holder against
/// changes, so that its keep-alive comes before or after. A holder that was gone never comes back. Nothing is
/// waited for; what somebody has locked is left.
fn take(flavour: Flavour, id: &str) -> String {
    format!(
        concat!(
            "update (select straight_join k.name
                from (select straight_join x.name, p.holder, p.is_gone
                    from {free} p join simba_lease x force index (primary) on x.name = p.name
                    where x.session_id = p.holder and x.token = p.token ",
            all!(),
            " {lock_lease}) k
                left join (select straight_join y.session_id
                    from {dead} h join simba_session y force index (primary) on y.session_id = h.id
                    where y.expires_at <= ",
            now!(),
            " ",
            all!(),
            " {lock_session}) d on d.session_id = k.holder
                where k.is_gone = 1 or d.session_id is not null ",
            all!(),
            ") t straight_join simba_lease l force index (primary) on l.name = t.name
            set l.token = l.token + 1, l.session_id = {id}"
        ),
        id = id,
        free = FREE,
        dead = DEAD,
        lock_lease = flavour.locked("x"),
        lock_session = flavour.shared("y")
    )
}

/// What became of each name, at most a thousand.
pub(super) async fn names(
    backend: &MySqlBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    sql::settle(names, |names| attempt(backend, session, names)).await
}

/// `None` where the session has expired.
async fn attempt(
    backend: &MySqlBackend,
    session: &SessionId,
    names: Vec<LeaseName>,
) -> Result<Option<Vec<(LeaseName, Seen)>>, BackendError> {
    let known = &backend.shared.known;
    let rows = if known.has_all(&names) { Rows::Known } else { Rows::Unknown };
    let (message, leases) = acquire(backend.flavour(), session, &names, rows);
    let answer = backend.send(Lane::Calls, message).await?;
    let named = |row| Some((text(row, "name")?, row));
    let mut rows: BTreeMap<String, &MySqlRow> = answer.rows(leases).iter().filter_map(named).collect();
    let Some(asker) = rows.remove("").and_then(|row| Asker::read(backend, session, row)) else {
        return Ok(None);
    };
    let seen = names.iter().map(|name| {
        let row = rows.get(name.as_str());
        known.note(name, row.is_some());
        (name.clone(), row.map_or(Seen::Free, |row| asker.see(name, row)))
    });
    Ok(Some(seen.collect()))
}

/// Who asked, as it was after the take-over.
struct Asker<'a> {
    backend: &'a MySqlBackend,
    session: &'a SessionId,
    expires_at: i64,
    now: i64,
    /// What it held before.
    mine: BTreeSet<String>,
}

impl<'a> Asker<'a> {
    /// `None` where the session has expired.
    fn read(backend: &'a MySqlBackend, session: &'a SessionId, row: &MySqlRow) -> Option<Self> {
        let (expires_at, now) = (integer(row, "expires_at")?, integer(row, "token")?);
        let mine = text(row, "session_id").unwrap_or_default().split(',').map(str::to_owned).collect();
        (expires_at > now).then_some(Self { backend, session, expires_at, now, mine })
    }

    fn see(&self, name: &LeaseName, row: &MySqlRow) -> Seen {
        let Stored { holder, token } = match Stored::read(name, row) {
            Ok(stored) => stored,
            Err(error) => return Seen::Answer(Acquisition::Failed(error)),
        };
        match holder {
            Some(holder) if holder == *self.session => Seen::Answer(self.owned(name, token)),
            Some(_) if integer(row, "expires_at").is_some_and(|end| end > self.now) => {
                let end = integer(row, "expires_at").unwrap_or_default();
                Seen::Answer(Acquisition::Held { free_in: Some(sql::span(end, self.now)) })
            }
            Some(_) | None if token.as_i64() == i64::MAX => {
                let what = "its token has no successor";
                Seen::Answer(Acquisition::Failed(sql::corrupt("simba_lease", name.as_str(), what)))
            }
            Some(_) | None => Seen::Free,
        }
    }

    fn owned(&self, name: &LeaseName, token: Token) -> Acquisition {
        let remaining = sql::left(self.expires_at, self.now);
        let is_new = !self.mine.contains(name.as_str());
        if is_new && self.backend.shared.known.is_first(name, self.session, token) {
            Acquisition::Granted { token, remaining }
        } else {
            Acquisition::AlreadyOwned { token, remaining }
        }
    }
}
