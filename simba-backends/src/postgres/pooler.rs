//! Finding out whether a pooler is on the way that gives each transaction another server: then nothing can be
//! listened to.

use std::time::Duration;

use sqlx::Postgres;
use tokio::time::timeout;
use tracing::warn;

use super::{Hinting, listen::Listener};
use crate::{
    BackendError, SessionId,
    sql::{self, Server},
};

/// How long what was told may take to come in. Only behind a pooler is it ever waited for.
const BOUND: Duration = Duration::from_secs(3);

/// Whether two connections have the same process of the server, or else whether what one tells reaches the
/// other. On a channel that nobody else has: a pooler's server that was made to listen goes on listening, and
/// would tell strangers.
pub(super) async fn hinting(server: &Server<Postgres>, limit: Duration) -> Result<Hinting, BackendError> {
    let channel = format!("simba_probe_{}", SessionId::random());
    let options = server.connections().options();
    let mut listener = match Listener::connect(options, &channel, limit).await {
        Ok(listener) => listener,
        Err(error) => return Ok(off(server, &error)),
    };
    let theirs = match timeout(limit, listener.process()).await {
        Ok(Ok(process)) => process,
        Ok(Err(error)) => return Ok(off(server, &error.to_string())),
        Err(_) => return Ok(off(server, "no answer in time")),
    };
    let ask = format!("select pg_backend_pid()::bigint as pid; select pg_notify('{channel}', 'probe')");
    let answer = server.keep_alive(ask).await?;
    let ours = answer.rows(0).first().and_then(|row| sql::integer(row, "pid"));
    if ours == theirs {
        return Ok(off(server, "two connections have the same server process: there is a pooler"));
    }
    match timeout(BOUND, listener.next()).await {
        Ok(Ok(_)) => Ok(Hinting::Listen),
        Ok(Err(error)) => Ok(off(server, &error)),
        Err(_) => Ok(off(server, "what one connection tells does not reach another: there is a pooler")),
    }
}

fn off(server: &Server<Postgres>, why: &str) -> Hinting {
    warn!(
        server = server.place(),
        why,
        "no hints: candidates look again at their regular times; connect past the pooler for faster hand-overs"
    );
    Hinting::Off
}
