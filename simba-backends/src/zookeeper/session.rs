//! Sessions: open, keep alive, close.

use std::{collections::BTreeSet, pin::Pin, sync::Arc, time::Duration};

use futures_util::future::{join as both, join_all};
use tokio::time::timeout;
use tracing::warn;
use zookeeper_client::{Client, CreateMode, Error};

use super::{
    Confirmation, Shared, error,
    lease::token,
    live::{Live, Over},
    parents,
    paths::{Place, id_of},
    watchdog,
};
use crate::{
    BackendError, GroupName, KeepAlive, LeaseName, Metadata, Opened, SessionId, Token, clock::since_boot,
};

/// How many calls are under way at once.
pub(super) const PIPELINE: usize = 500;

/// The protocol counts milliseconds in 32 bits.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

pub(super) async fn open(
    shared: &Arc<Shared>,
    lease: Duration,
    metadata: &Metadata,
) -> Result<Opened, BackendError> {
    let opened = since_boot();
    let client = shared.ensemble.client(&shared.place, lease.min(LONGEST), Duration::MAX).await?;
    let granted = client.session_timeout();
    if granted < lease * 4 / 5 {
        return Err(BackendError::config(format!(
            "{} lets a session live for at most {granted:?}, and the lease is {lease:?}: shorten the lease, or raise \
             maxSessionTimeout there",
            shared.place
        )));
    }
    let live = Live::new(id_of(client.session_id()), client, opened, lease, metadata.clone());
    let live = Arc::new(live);
    shared.sessions.add(&live);
    watchdog::start(shared, &live);
    if let Err(failure) = describe(shared, &live).await {
        live.end();
        return Err(failure);
    }
    if granted > lease {
        let (session, place) = (&live.id, &shared.place);
        warn!(%session, ?lease, ?granted, "{place} notices a crash later than a lease: see its minSessionTimeout");
    }
    Ok(Opened { session: live.id.clone(), remaining: lease.min(granted) })
}

/// Writes down whose session it is.
pub(super) async fn describe(shared: &Shared, live: &Live) -> Result<(), BackendError> {
    let Some(client) = live.client() else { return Err(error::disconnected(&shared.place)) };
    let path = shared.paths.session(&live.id);
    match make(shared, &client, &path, &shared.paths.sessions(), live.metadata.as_str().as_bytes()).await? {
        Made::New | Made::There => Ok(()),
    }
}

/// What became of a node of a session.
pub(super) enum Made {
    New,
    There,
}

/// Makes an ephemeral node, and the parent that it is in where that is missing.
pub(super) async fn make(
    shared: &Shared,
    client: &Client,
    path: &str,
    parent: &str,
    data: &[u8],
) -> Result<Made, BackendError> {
    for _ in 0..ROUNDS {
        let made = shared
            .ensemble
            .with_options(path, CreateMode::Ephemeral, |options| client.create(path, data, options));
        match shared.within(path, made).await? {
            Ok(_) => return Ok(Made::New),
            Err(Error::NodeExists) => return Ok(Made::There),
            Err(Error::NoNode) => parents::make(shared, client, parent).await?,
            Err(failure) => return Err(error::of(&shared.place, path, failure)),
        }
    }
    Err(error::vanishing(parent))
}

/// How often a parent may vanish between two calls.
pub(super) const ROUNDS: u32 = 20;

pub(super) async fn keep_alive(
    shared: &Arc<Shared>,
    session: &SessionId,
    lease: Duration,
) -> Result<KeepAlive, BackendError> {
    let Some(live) = shared.sessions.get(session) else {
        return absent(shared, session).await.map(|()| KeepAlive::Expired);
    };
    let client = match live.connected(shared).await? {
        Ok(client) => client,
        Err(Over) => return Ok(KeepAlive::Expired),
    };
    let sent = since_boot();
    match look(shared, &live, &client, sent).await {
        Ok(seen) => Ok(renewed(&live, lease, sent, seen)),
        Err(_) if live.is_over() => Ok(KeepAlive::Expired),
        Err(failure) => Err(failure),
    }
}

/// What the ensemble has of a session.
struct Seen {
    owned: Vec<(LeaseName, Token)>,
    groups: Vec<GroupName>,
}

/// Looks at all that the session has, as of a moment after `sent`, by way of the leader.
async fn look(
    shared: &Arc<Shared>,
    live: &Arc<Live>,
    client: &Client,
    sent: Duration,
) -> Result<Seen, BackendError> {
    let root = shared.paths.root();
    // In this order on one connection: nothing is read before the leader is through with what comes first.
    let (confirmed, listed) = (confirm(shared, live, client), client.list_ephemerals(root));
    let (confirmed, listed) = shared.within(root, both(confirmed, listed)).await?;
    confirmed.map_err(|failure| error::of(&shared.place, root, failure))?;
    let listed = listed.map_err(|failure| error::of(&shared.place, root, failure))?;
    let (mut names, mut groups, mut is_described) = (BTreeSet::new(), Vec::new(), false);
    for place in listed.iter().filter_map(|path| shared.paths.read(path)) {
        match place {
            Place::Lease(name) => {
                names.insert(name);
            }
            Place::Member(group, session) if session == live.id => groups.push(group),
            Place::Session(session) => is_described |= session == live.id,
            Place::Member(..) => {}
        }
    }
    if !is_described {
        let (shared, live) = (Arc::clone(shared), Arc::clone(live));
        tokio::spawn(async move {
            if let Err(error) = describe(&shared, &live).await {
                warn!(session = %live.id, %error, "somebody removed its metadata, and it could not be written anew");
            }
        });
    }
    let owned = tokens(shared, live, client, names, sent).await?;
    Ok(Seen { owned, groups })
}

/// Sends what only the leader can answer.
fn confirm<'c>(
    shared: &'c Shared,
    live: &Live,
    client: &'c Client,
) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'c>> {
    match shared.confirmation {
        Confirmation::Read => Box::pin(client.sync(shared.paths.root())),
        Confirmation::Write => {
            let metadata = live.metadata.as_str().as_bytes();
            let written = client.set_data(&shared.paths.session(&live.id), metadata, None);
            live.lock().fence = None;
            Box::pin(async move {
                match written.await {
                    // The refusal, too, has been committed.
                    Ok(_) | Err(Error::NoNode) => Ok(()),
                    Err(failure) => Err(failure),
                }
            })
        }
    }
}

/// Adds its token to each name that is held; where it is not certain the node is looked at.
async fn tokens(
    shared: &Shared,
    live: &Live,
    client: &Client,
    names: BTreeSet<LeaseName>,
    sent: Duration,
) -> Result<Vec<(LeaseName, Token)>, BackendError> {
    let (mut owned, mut doubtful) = (Vec::with_capacity(names.len()), Vec::new());
    {
        let mut state = live.lock();
        state.holdings.listed(&names, sent);
        for name in names {
            match state.holdings.token(&name) {
                Some(token) => owned.push((name, token)),
                None => doubtful.push(name),
            }
        }
    }
    for names in doubtful.chunks(PIPELINE) {
        let asked = since_boot();
        let paths: Vec<_> = names.iter().map(|name| shared.paths.lease(name)).collect();
        let looks = join_all(paths.iter().map(|path| client.check_stat(path)));
        let stats = shared.within(&shared.paths.leases(), looks).await?;
        for ((name, path), stat) in names.iter().zip(&paths).zip(stats) {
            let stat = stat.map_err(|failure| error::of(&shared.place, path, failure))?;
            if let Some(stat) = stat.filter(|stat| stat.ephemeral_owner == live.number) {
                let token = token(path, &stat)?;
                live.lock().holdings.found(name, token, asked);
                owned.push((name.clone(), token));
            }
        }
    }
    Ok(owned)
}

/// The session has been seen alive by a call that was sent then.
fn renewed(live: &Live, lease: Duration, sent: Duration, seen: Seen) -> KeepAlive {
    {
        let mut state = live.lock();
        // Decided here, while nobody else can end it.
        if !state.is_live(since_boot()) {
            drop(state);
            live.end();
            return KeepAlive::Expired;
        }
        state.touches.answered(sent);
        state.deadline = state.deadline.max(sent + lease.min(live.timeout));
    }
    KeepAlive::Live {
        remaining: live.remaining(sent, lease),
        owned: seen.owned,
        unknown: Vec::new(),
        groups: seen.groups,
        server_elapsed: None,
    }
}

pub(super) async fn close(shared: &Arc<Shared>, session: &SessionId) -> Result<(), BackendError> {
    let Some(live) = shared.sessions.get(session) else { return gone(shared, session).await };
    live.end();
    let closed = timeout(shared.call_timeout, live.gone()).await;
    closed.map_err(|_| error::unanswered(&shared.place, &shared.paths.session(session)))
}

/// This backend has no such session. Whether nobody has.
///
/// # Errors
/// If another client has it: only that one can use it, or end it.
pub(super) async fn absent(shared: &Arc<Shared>, session: &SessionId) -> Result<(), BackendError> {
    if shared.sessions.had(session) { Ok(()) } else { gone(shared, session).await }
}

/// Whether nobody has a session any more: not even the ensemble, which may find out last.
async fn gone(shared: &Arc<Shared>, session: &SessionId) -> Result<(), BackendError> {
    if super::paths::id(session.as_str()).is_none() {
        return Ok(());
    }
    let path = shared.paths.session(session);
    let client = shared.client().await?;
    let (synced, stat) = (client.sync(&path), client.check_stat(&path));
    let (synced, stat) = shared.within(&path, async { (synced.await, stat.await) }).await?;
    match synced.and(stat) {
        Ok(None) => Ok(()),
        Ok(Some(_)) if shared.sessions.had(session) => Err(error::unanswered(&shared.place, &path)),
        Ok(Some(_)) => Err(error::of_another_client(&shared.place)),
        Err(failure) => Err(error::of(&shared.place, &path, failure)),
    }
}
