//! The purge: removes what dead sessions left, never a token.

use tracing::{debug, warn};

use super::{
    Lane, MySqlBackend,
    flavour::Flavour,
    message::{Message, all, now},
};
use crate::{BackendError, sql::integer};

/// How much a run removes at once, and how many dead sessions at all.
const MOST: i64 = 1000;

/// How often a run looks for more that is left without a session.
const ROUNDS: u32 = 16;

/// Begins a purge in the background if one is due: the call that it follows is already answered.
pub(super) fn when_due(backend: &MySqlBackend, now: i64) {
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

async fn run(backend: &MySqlBackend) -> Result<(), BackendError> {
    let mut found = sweep(backend, true).await?;
    for _ in 1..ROUNDS {
        if found.orphans < MOST {
            break;
        }
        found.orphans = sweep(backend, false).await?.orphans;
    }
    Ok(())
}

/// How many rows one sweep found.
struct Found {
    orphans: i64,
}

/// Each step looks without a lock, then removes by key what is still so and nobody has locked.
async fn sweep(backend: &MySqlBackend, with_sessions: bool) -> Result<Found, BackendError> {
    let flavour = backend.flavour();
    let mut message = Message::default();
    for found in ["@simba_dead", "@simba_members", "@simba_leases"] {
        message.set(found, "null");
    }
    if with_sessions {
        sessions(&mut message, flavour);
    }
    members(&mut message, flavour);
    leases(&mut message, flavour);
    let counts = message.add(
        "select coalesce(json_length(@simba_dead), 0) as dead,
            greatest(coalesce(json_length(@simba_members), 0), coalesce(json_length(@simba_leases), 0)) as orphans",
    );
    let answer = backend.send(Lane::Calls, message).await?;
    let count = |column| answer.rows(counts).first().and_then(|row| integer(row, column)).unwrap_or_default();
    if count("dead") + count("orphans") > 0 {
        backend.shared.freed.tell_all();
    }
    Ok(Found { orphans: count("orphans") })
}

fn sessions(message: &mut Message, flavour: Flavour) {
    message.add(format!(
        concat!(
            "select concat('[', group_concat(concat('\"', session_id, '\"')), ']') into @simba_dead
            from (select session_id from simba_session
                where expires_at <= ",
            now!(),
            " and session_id not regexp '[^0-9A-Za-z]' order by expires_at limit {}) d"
        ),
        MOST
    ));
    message.add(format!(
        concat!(
            "delete s from (select straight_join x.session_id
                from json_table(@simba_dead, '$[*]' columns (id char(32) character set ascii path '$')) p
                join simba_session x force index (primary) on x.session_id = p.id where x.expires_at <= ",
            now!(),
            " ",
            all!(),
            " {}) t straight_join simba_session s force index (primary) on s.session_id = t.session_id"
        ),
        flavour.locked("x")
    ));
}

/// Whoever sees a membership sees its session too, unless that is gone: then it never comes back.
fn members(message: &mut Message, flavour: Flavour) {
    message.add(format!(
        "select concat('[', group_concat(concat('[\"', group_name, '\",\"', session_id, '\"]')), ']')
            into @simba_members
        from (select m.group_name, m.session_id
            from simba_member m left join simba_session s on s.session_id = m.session_id
            where s.session_id is null and m.group_name not regexp '[^0-9A-Za-z._:-]'
                and m.session_id not regexp '[^0-9A-Za-z]' limit {MOST}) o"
    ));
    message.add(format!(
        concat!(
            "delete m from (select straight_join x.group_name, x.session_id
                from json_table(@simba_members, '$[*]' columns (
                    name varchar(128) character set utf8mb4 path '$[0]', id char(32) character set ascii path '$[1]')) p
                join simba_member x force index (primary) on x.group_name = p.name and x.session_id = p.id ",
            all!(),
            " {}) t straight_join simba_member m force index (primary)
            on m.group_name = t.group_name and m.session_id = t.session_id"
        ),
        flavour.locked("x")
    ));
}

/// A lease whose session_id or name is malformed is left as evidence.
fn leases(message: &mut Message, flavour: Flavour) {
    message.add(format!(
        "select concat('[', group_concat(concat('[\"', name, '\",\"', session_id, '\"]')), ']') into @simba_leases
        from (select l.name, l.session_id
            from (select distinct session_id from simba_lease
                where session_id > '' and session_id not regexp '[^0-9A-Za-z]') h
            left join simba_session s on s.session_id = h.session_id
            join simba_lease l on l.session_id = h.session_id
            where s.session_id is null and l.name not regexp '[^0-9A-Za-z._:-]' limit {MOST}) o"
    ));
    message.add(format!(
        concat!(
            "update (select straight_join x.name
                from json_table(@simba_leases, '$[*]' columns (
                    name varchar(128) character set ascii path '$[0]', id char(32) character set ascii path '$[1]')) p
                join simba_lease x force index (primary) on x.name = p.name where x.session_id = p.id ",
            all!(),
            " {}) t straight_join simba_lease l force index (primary) on l.name = t.name set l.session_id = ''"
        ),
        flavour.locked("x")
    ));
}
