//! Leases: acquire, release, inspect.

use std::time::Duration;

use redis::Value;
use tracing::debug;

use super::{
    RedisBackend,
    known::Change,
    node::Lane,
    parts::{MOST, Part, all, parts},
    reply::{self, is_expired, left, list, parsed, span, text, unreadable},
    script::{self, Call},
    server::Server,
    session::{corrupt, describe, too_late},
};
use crate::{
    Acquired, Acquisition, BackendError, ErrorKind, Holder, LeaseName, Outcome, Release, SessionId, Token,
    clock::since_boot,
};

pub(super) async fn acquire(
    backend: &RedisBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    match backend.server() {
        Server::One(_) => acquire_at_once(backend, session, names).await,
        Server::Cluster(_) => acquire_by_slot(backend, session, names).await,
    }
}

/// Where the session and all leases are on one server, it decides all in one step.
async fn acquire_at_once(
    backend: &RedisBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    let keys = backend.keys();
    let mut answers = Vec::with_capacity(names.len());
    let is_whole = names.len() <= MOST;
    for names in names.chunks(MOST) {
        let call = Call::new(&script::ACQUIRE)
            .keys([keys.session(session), keys.leases_of(session)])
            .keys(names.iter().map(|name| keys.lease(name)))
            .arg(session)
            .args(names);
        match backend.server().run_replicated(Lane::Others, &call, backend.limit()).await {
            Ok(answer) if is_expired(&answer) => return Ok(Acquired::Expired),
            Ok(answer) => answers.extend(each(backend, names, &answer)),
            Err(error) if is_whole => return Err(error),
            Err(error) => answers.extend(names.iter().map(|name| failed(name, &error))),
        }
    }
    Ok(Acquired::Answers(answers))
}

fn failed(name: &LeaseName, error: &BackendError) -> (LeaseName, Acquisition) {
    (name.clone(), Acquisition::Failed(error.clone()))
}

fn each(backend: &RedisBackend, names: &[LeaseName], answer: &Value) -> Vec<(LeaseName, Acquisition)> {
    let answers = list(answer).unwrap_or(&[]);
    let answer = |(i, name): (usize, &LeaseName)| {
        let acquisition = answers.get(i).and_then(list).and_then(|said| acquisition(backend, said));
        (name.clone(), acquisition.unwrap_or_else(|| Acquisition::Failed(unreadable(backend.place()))))
    };
    names.iter().enumerate().map(answer).collect()
}

fn acquisition(backend: &RedisBackend, said: &[Value]) -> Option<Acquisition> {
    match (text(said.first()?)?, said.get(1)?, said.get(2)) {
        ("granted", token, Some(remaining)) => {
            Some(Acquisition::Granted { token: reply::token(token)?, remaining: left(remaining)? })
        }
        ("owned", token, Some(remaining)) => {
            Some(Acquisition::AlreadyOwned { token: reply::token(token)?, remaining: left(remaining)? })
        }
        ("held", free_in, None) => Some(Acquisition::Held { free_in: span(free_in) }),
        ("corrupt", what, None) => Some(Acquisition::Failed(corrupt(backend, text(what)))),
        _ => None,
    }
}

/// On a cluster the session is asked first, and each slot's leases after that, while what the session had left is not
/// over. Each lease is granted for a full lease of its own node's time, which covers every keep-alive that it misses.
async fn acquire_by_slot(
    backend: &RedisBackend,
    session: &SessionId,
    names: &[LeaseName],
) -> Result<Acquired, BackendError> {
    let change = backend.known().begin(session, names, MOST);
    let attempt = match intend(backend, session, names, &change).await {
        Ok(Some(intended)) => intended,
        Ok(None) => {
            backend.known().ended(session);
            return Ok(Acquired::Expired);
        }
        Err(error) => {
            // Nothing was asked for.
            backend.known().answered(session, change.begun, names);
            return Err(error);
        }
    };
    let keys = backend.keys();
    let parts = parts(backend.server(), names.iter().cloned(), |name| keys.lease(name));
    let calls = parts.into_iter().map(|part| attempt.grant(part));
    let answers: Vec<_> = all(calls).await.concat();
    if attempt.left().is_zero() {
        attempt.undo(&answers).await;
        return Err(too_late(backend));
    }
    Ok(Acquired::Answers(answers))
}

/// Lists the names with the session, and learns how long it lives.
async fn intend<'a>(
    backend: &'a RedisBackend,
    session: &'a SessionId,
    names: &[LeaseName],
    change: &Change,
) -> Result<Option<Attempt<'a>>, BackendError> {
    let keys = backend.keys();
    let call = Call::new(&script::INTEND)
        .keys([keys.session(session), keys.leases_of(session)])
        .arg(change.number())
        .arg(change.gone.len())
        .args(&change.gone)
        .args(names);
    let answer = backend.server().run(Lane::Others, &call, backend.limit()).await?;
    if is_expired(&answer) {
        return Ok(None);
    }
    let read = || {
        let [remaining, lease] = list(&answer)? else { return None };
        let (remaining, lease) = (left(remaining)?, span(lease)?);
        // Counted from before the session was asked.
        Some(Attempt { backend, session, begun: change.begun, until: change.begun + remaining, lease })
    };
    read().map(Some).ok_or_else(|| unreadable(backend.place()))
}

/// An attempt whose session lives until then at least.
struct Attempt<'a> {
    backend: &'a RedisBackend,
    session: &'a SessionId,
    begun: Duration,
    until: Duration,
    lease: Duration,
}

impl Attempt<'_> {
    fn left(&self) -> Duration {
        self.until.saturating_sub(since_boot())
    }

    async fn grant(&self, part: Part<LeaseName>) -> Vec<(LeaseName, Acquisition)> {
        let Part { keys, items: names } = part;
        let left = self.left();
        let answer = if left.is_zero() {
            let message = "not asked for: the session's time was over";
            Err(BackendError::new(ErrorKind::Timeout, Outcome::NotApplied, message))
        } else {
            let call = Call::new(&script::GRANT).keys(keys).arg(self.session).arg(self.lease.as_millis());
            let limit = self.backend.limit_of_part(self.lease).min(left);
            self.backend.server().run(Lane::Others, &call, limit).await
        };
        match answer {
            Ok(answer) => {
                self.backend.known().answered(self.session, self.begun, &names);
                each(self.backend, &names, &answer)
            }
            Err(error) => {
                if error.outcome() == Outcome::NotApplied {
                    self.backend.known().answered(self.session, self.begun, &names);
                }
                names.iter().map(|name| failed(name, &error)).collect()
            }
        }
    }

    /// Gives back what was granted too late. What cannot be given back ends by itself.
    async fn undo(&self, answers: &[(LeaseName, Acquisition)]) {
        let granted = answers.iter().filter_map(|(name, answer)| match answer {
            Acquisition::Granted { token, .. } => Some((name.clone(), *token)),
            Acquisition::AlreadyOwned { .. } | Acquisition::Held { .. } | Acquisition::Failed(_) => None,
        });
        let granted: Vec<_> = granted.collect();
        if let Err(error) = release(self.backend, self.session, &granted).await {
            debug!(session = %self.session, %error, "late grants not given back");
        }
    }
}

pub(super) async fn release(
    backend: &RedisBackend,
    session: &SessionId,
    leases: &[(LeaseName, Token)],
) -> Result<Vec<(LeaseName, Release)>, BackendError> {
    let keys = backend.keys();
    let parts = parts(backend.server(), leases.iter().cloned(), |(name, _)| keys.lease(name));
    let (is_whole, begun) = (parts.len() == 1, since_boot());
    let calls = parts.into_iter().map(async |part: Part<(LeaseName, Token)>| {
        let answer = release_part(backend, session, &part).await;
        (part.items, answer)
    });
    let answers: Vec<_> = all(calls).await;
    let mut releases = Vec::with_capacity(leases.len());
    for (leases, answer) in answers {
        match answer {
            Ok(answer) => {
                forget(backend, session, begun, &leases, &answer);
                releases.extend(answers_of_release(backend, leases, &answer));
            }
            Err(error) if is_whole => return Err(error),
            Err(error) => {
                let failed = |(name, _)| (name, Release::Failed(error.clone()));
                releases.extend(leases.into_iter().map(failed));
            }
        }
    }
    Ok(releases)
}

/// Remembers which are held no more, where the session's index is on another server. What the session holds with
/// another token is held.
fn forget(
    backend: &RedisBackend,
    session: &SessionId,
    begun: Duration,
    leases: &[(LeaseName, Token)],
    answer: &Value,
) {
    match backend.server() {
        Server::One(_) => {}
        Server::Cluster(_) => {
            let answers = list(answer).unwrap_or(&[]);
            let gone = leases.iter().zip(answers).filter(|(_, answer)| text(answer) == Some("gone"));
            backend.known().released(session, gone.map(|((name, _), _)| name.clone()), begun);
        }
    }
}

async fn release_part(
    backend: &RedisBackend,
    session: &SessionId,
    part: &Part<(LeaseName, Token)>,
) -> Result<Value, BackendError> {
    let index = match backend.server() {
        Server::One(_) => Some(backend.keys().leases_of(session)),
        Server::Cluster(_) => None,
    };
    let leases = part.items.iter().flat_map(|(name, token)| [name.to_string(), token.to_string()]);
    let call =
        Call::new(&script::RELEASE).keys(part.keys.iter().cloned()).keys(index).arg(session).args(leases);
    backend.server().run(Lane::Others, &call, backend.limit()).await
}

fn answers_of_release(
    backend: &RedisBackend,
    leases: Vec<(LeaseName, Token)>,
    answer: &Value,
) -> Vec<(LeaseName, Release)> {
    let answers = list(answer).unwrap_or(&[]);
    let answer = |(i, (name, _)): (usize, (LeaseName, Token))| match answers.get(i).and_then(text) {
        Some("gone" | "kept") => (name, Release::Gone),
        said => (name, Release::Failed(corrupt(backend, said))),
    };
    leases.into_iter().enumerate().map(answer).collect()
}

pub(super) async fn inspect(
    backend: &RedisBackend,
    name: &LeaseName,
) -> Result<Option<Holder>, BackendError> {
    let call = Call::new(&script::INSPECT).key(backend.keys().lease(name));
    let answer = backend.server().run(Lane::Others, &call, backend.limit()).await?;
    let Some([session, token, free_in]) = list(&answer) else { return Ok(None) };
    let key = backend.keys().lease(name);
    let (Some(session), Some(token)) = (parsed::<SessionId>(session), reply::token(token)) else {
        return Err(corrupt(backend, Some(&format!("{key} has a holder that is no session"))));
    };
    let described = describe(backend, vec![session.clone()]).await?;
    // On a cluster a lease can outlive its session: it holds the name up all the same.
    let metadata = described.into_iter().find_map(|(_, metadata)| metadata).unwrap_or_default();
    Ok(Some(Holder { session, metadata, token, free_in: span(free_in) }))
}
