//! One message that acquires.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::mysql::MySqlRow;

use super::{
    Lane, MySqlBackend,
    flavour::Flavour,
    lease::Stored,
    message::{self, Message, all, literal, now},
};
use crate::{
    Acquired, Acquisition, BackendError, LeaseName, SessionId,
    sql::{self, integer, text},
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

/// Where the answers of an acquire are.
struct Acquire {
    message: Message,
    own: usize,
    leases: usize,
}

/// Looks, inserts what is missing, takes what is free, and looks again.
fn acquire(flavour: Flavour, session: &SessionId, names: &[LeaseName]) -> Acquire {
    let id = literal(session);
    let mut message = Message::default();
    message.add(format!("set @simba_names = {}", message::names(names)));
    message.alone(look(&id));
    // A row that somebody has inserted but not committed is there for this one, which so does not wait.
    message.dirty(insert(&id));
    message.alone(take(flavour, &id));
    let own = message.alone(format!(
        concat!(
            "select expires_at, ",
            now!(),
            " as now, @simba_mine as mine from simba_session where session_id = {}"
        ),
        id
    ));
    let leases = message.alone(format!(
        "select straight_join l.name, l.session_id, l.token, s.expires_at
        from {NAMES} n join simba_lease l on l.name = n.name
        left join simba_session s on s.session_id = l.session_id"
    ));
    message.add("set @simba_mine = null");
    Acquire { message, own, leases }
}

/// A plain read, which locks nothing (a subquery of a `set` would): what is ours already, what is missing, what
/// nobody holds. What is ours is not looked up again when the message is run again.
fn look(id: &str) -> String {
    format!(
        concat!(
            "select coalesce(@simba_mine, group_concat(case when l.session_id = {id} then l.name end), ''),
            concat('[', group_concat(case when l.name is null then concat('\"', n.name, '\"') end), ']'),
            concat('[', group_concat(case
                when l.token between 1 and 9223372036854775806 and l.session_id not regexp '[^0-9A-Za-z]'
                and (s.session_id is null or s.expires_at <= ",
            now!(),
            ") and exists (select 1 from simba_session where session_id = {id} and expires_at > ",
            now!(),
            ")
                then concat('[\"', l.name, '\",\"', l.session_id, '\",', l.token, ',', s.session_id is null, ']')
            end), ']')
            into @simba_mine, @simba_missing, @simba_free
            from {names} n left join simba_lease l on l.name = n.name
            left join simba_session s on s.session_id = l.session_id"
        ),
        id = id,
        names = NAMES
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
                    from (select distinct holder from {free} q where is_gone = 0) h
                    join simba_session y force index (primary) on y.session_id = h.holder
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
    let Acquire { message, own, leases } = acquire(backend.flavour(), session, names);
    let answer = backend.send(Lane::Calls, message).await?;
    let Some(asker) = Asker::read(session, answer.rows(own)) else { return Ok(Acquired::Expired) };
    let named = |row| Some((text(row, "name")?, row));
    let rows: BTreeMap<String, &MySqlRow> = answer.rows(leases).iter().filter_map(named).collect();
    let answers = names.iter().map(|name| {
        let row = rows.get(name.as_str());
        // Somebody has inserted the row and not committed.
        (name.clone(), row.map_or(Acquisition::Held { free_in: None }, |row| asker.settle(name, row)))
    });
    Ok(Acquired::Answers(answers.collect()))
}

/// Who asked, as it was after the take-over.
struct Asker<'a> {
    session: &'a SessionId,
    expires_at: i64,
    now: i64,
    /// What it held before.
    mine: BTreeSet<String>,
}

impl<'a> Asker<'a> {
    /// `None` where the session has expired.
    fn read(session: &'a SessionId, rows: &[MySqlRow]) -> Option<Self> {
        let row = rows.first()?;
        let (expires_at, now) = (integer(row, "expires_at")?, integer(row, "now")?);
        let mine = text(row, "mine").unwrap_or_default().split(',').map(str::to_owned).collect();
        (expires_at > now).then_some(Self { session, expires_at, now, mine })
    }

    fn settle(&self, name: &LeaseName, row: &MySqlRow) -> Acquisition {
        let Stored { holder, token } = match Stored::read(name, row) {
            Ok(stored) => stored,
            Err(error) => return Acquisition::Failed(error),
        };
        let remaining = sql::left(self.expires_at, self.now);
        match holder {
            Some(holder) if holder == *self.session && self.mine.contains(name.as_str()) => {
                Acquisition::AlreadyOwned { token, remaining }
            }
            Some(holder) if holder == *self.session => Acquisition::Granted { token, remaining },
            Some(_) if integer(row, "expires_at").is_some_and(|end| end > self.now) => {
                let end = integer(row, "expires_at").unwrap_or_default();
                Acquisition::Held { free_in: Some(sql::span(end, self.now)) }
            }
            Some(_) | None if token.as_i64() == i64::MAX => {
                let what = "its token has no successor";
                Acquisition::Failed(sql::corrupt("simba_lease", name.as_str(), what))
            }
            // Somebody has locked it, or held it until a moment ago.
            Some(_) | None => Acquisition::Held { free_in: None },
        }
    }
}
