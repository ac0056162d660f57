//! Finding out whether a pooler is on the way that gives each transaction another server: then nothing can be
//! listened to.

use std::{collections::BTreeSet, time::Duration};

use sqlx::Postgres;
use tokio::time::timeout;
use tracing::warn;

use super::{
    Hinting,
    listen::{Listener, PROCESS},
};
use crate::{
    BackendError, ErrorKind, SessionId,
    sql::{Server, integer},
};

/// How often both connections are asked for their process, in turns.
const ROUNDS: u32 = 4;

/// How long what was told may take to come in. Only behind a pooler is it ever waited for.
const BOUND: Duration = Duration::from_secs(3);

/// Whether anything can be listened to. By the processes first: a pooler's server that was made to listen goes
/// on listening, and would tell strangers.
pub(super) async fn hinting(server: &Server<Postgres>, limit: Duration) -> Result<Hinting, BackendError> {
    let mut listener = Listener::connect(server, limit).await?;
    if processes_are_shared(server, &mut listener).await? {
        return Ok(off(server, "its connections share server processes: there is a pooler on the way"));
    }
    match is_heard(server, &mut listener).await {
        Ok(true) => Ok(Hinting::Listen),
        Ok(false) => Ok(off(server, "what one connection tells does not reach another")),
        Err(error) if matches!(error.kind(), ErrorKind::Unexpected | ErrorKind::Unsupported) => {
            Ok(off(server, &error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// Two connections that are not pooled have one process each, and keep it.
async fn processes_are_shared(
    server: &Server<Postgres>,
    listener: &mut Listener,
) -> Result<bool, BackendError> {
    let (mut kept, mut listening) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..ROUNDS {
        let answer = server.keep_alive(PROCESS.to_owned()).await?;
        kept.extend(answer.rows(0).first().and_then(|row| integer(row, "pid")));
        listening.extend(listener.process(server).await?);
    }
    Ok(kept.len() != 1 || listening.len() != 1 || kept == listening)
}

/// On a channel that nobody else has.
async fn is_heard(server: &Server<Postgres>, listener: &mut Listener) -> Result<bool, BackendError> {
    let channel = format!("simba_probe_{}", SessionId::random());
    listener.listen(server, &channel).await?;
    server.keep_alive(format!("select pg_notify('{channel}', 'probe')")).await?;
    timeout(BOUND, listener.next(server)).await.map_or(Ok(false), |heard| heard.map(|_| true))
}

fn off(server: &Server<Postgres>, why: &str) -> Hinting {
    let server = server.place();
    warn!(
        server,
        why, "no hints: candidates look at their regular times; past the pooler they would hear at once"
    );
    Hinting::Off
}
