//! The sessions that this backend has opened, each with a client of its own.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::timeout};
use zookeeper_client::{Client, SessionState, StateWatcher};

use super::{Shared, error, holdings::Holdings, touches::Touches};
use crate::{BackendError, LeaseName, Metadata, SessionId, clock::since_boot};

#[derive(Default)]
pub(super) struct Sessions {
    live: Mutex<BTreeMap<SessionId, Arc<Live>>>,
    /// Those that ended last. The ensemble may find out later.
    ended: Mutex<VecDeque<SessionId>>,
}

/// How many sessions that ended are remembered: more than any process keeps asking about.
const ENDED: usize = 1000;

impl Sessions {
    pub(super) fn add(&self, live: &Arc<Live>) {
        self.lock().insert(live.id.clone(), Arc::clone(live));
    }

    pub(super) fn get(&self, session: &SessionId) -> Option<Arc<Live>> {
        self.lock().get(session).cloned()
    }

    pub(super) fn remove(&self, session: &SessionId) {
        {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            ended.push_back(session.clone());
            while ended.len() > ENDED {
                ended.pop_front();
            }
        }
        self.lock().remove(session);
    }

    /// Whether it was one of them and has ended, whatever the ensemble knows of that yet.
    pub(super) fn had(&self, session: &SessionId) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }

    /// Any session that has a connection.
    pub(super) fn any_connected(&self) -> Option<Arc<Live>> {
        self.lock().values().find(|live| live.connected_client().is_some()).cloned()
    }

    /// The client of any session that has a connection.
    pub(super) fn any_client(&self) -> Option<Client> {
        self.lock().values().find_map(|live| live.connected_client())
    }

    /// Whether none of them goes on.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().values().all(|live| live.client().is_none())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One session.
pub(super) struct Live {
    pub(super) id: SessionId,
    /// The number by which ZooKeeper knows it as a node's owner.
    pub(super) number: i64,
    /// What the ensemble has granted.
    pub(super) timeout: Duration,
    pub(super) metadata: Metadata,
    watcher: StateWatcher,
    state: Mutex<State>,
    /// Whose turn it is to release: one at a time.
    pub(super) releases: tokio::sync::Mutex<()>,
    /// That it has ended.
    pub(super) ended: Notify,
}

pub(super) struct State {
    /// None once it has ended. It ends, in ZooKeeper too, with its last client.
    client: Option<Client>,
    /// When it ends unless it is kept alive.
    pub(super) deadline: Duration,
    pub(super) touches: Touches,
    pub(super) holdings: Holdings,
    /// The version of its own node that a delete is sent with; none where the last one is not certain, or one of those
    /// that were sent with it may still take effect.
    pub(super) fence: Option<i32>,
    /// What is being released, from before it is looked at until it is gone: not to be made anew in between.
    pub(super) releasing: BTreeSet<LeaseName>,
}

impl State {
    /// Whether it goes on at that time.
    pub(super) fn is_live(&self, now: Duration) -> bool {
        self.client.is_some() && now < self.deadline
    }
}

/// There is no such session any more.
#[derive(Debug)]
pub(super) struct Over;

impl Live {
    /// A session that was asked for at that time.
    pub(super) fn new(
        id: SessionId,
        client: Client,
        opened: Duration,
        lease: Duration,
        metadata: Metadata,
    ) -> Self {
        let timeout = client.session_timeout();
        Self {
            id,
            number: client.session_id().0,
            timeout,
            metadata,
            watcher: client.state_watcher(),
            state: Mutex::new(State {
                client: Some(client),
                deadline: opened + lease.min(timeout),
                touches: Touches::new(opened, timeout),
                holdings: Holdings::default(),
                fence: None,
                releasing: BTreeSet::new(),
            }),
            releases: tokio::sync::Mutex::new(()),
            ended: Notify::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its client, unless it has ended.
    pub(super) fn client(&self) -> Option<Client> {
        self.lock().client.clone()
    }

    /// Its client, if that has a connection.
    fn connected_client(&self) -> Option<Client> {
        self.client().filter(|client| client.state() == SessionState::SyncConnected)
    }

    /// Its client, unless it is over or its time has run out, with a connection. Without one a call would be kept, and
    /// carried out when there is one again, whoever still wants it then.
    pub(super) async fn connected(&self, shared: &Shared) -> Result<Result<Client, Over>, BackendError> {
        let mut watcher = self.watcher.clone();
        let connected = async {
            loop {
                match watcher.state() {
                    SessionState::SyncConnected => return Ok(()),
                    SessionState::Expired | SessionState::Closed => return Err(Ok(Over)),
                    SessionState::AuthFailed => return Err(Err(zookeeper_client::Error::AuthFailed)),
                    SessionState::Disconnected | SessionState::ConnectedReadOnly => {
                        watcher.changed().await;
                    }
                }
            }
        };
        let limit = shared.call_timeout.min(self.timeout / 4);
        let connected = timeout(limit, connected).await;
        if self.is_over() {
            self.end();
            return Ok(Err(Over));
        }
        match connected {
            Ok(Ok(())) => Ok(self.client().ok_or(Over)),
            Ok(Err(Ok(Over))) => {
                self.end();
                Ok(Err(Over))
            }
            Ok(Err(Err(failure))) => Err(error::of(&shared.place, shared.paths.root(), failure)),
            Err(_) => Err(error::disconnected(&shared.place)),
        }
    }

    /// Whether it has ended, or its time has run out.
    pub(super) fn is_over(&self) -> bool {
        !self.lock().is_live(since_boot())
    }

    /// Ends it: the ensemble is told, as soon as calls under way have ended and as there is a connection.
    pub(super) fn end(&self) {
        let client = self.lock().client.take();
        drop(client);
        self.ended.notify_one();
    }

    /// Waits until ZooKeeper knows that it has ended, or must have found out.
    pub(super) async fn gone(&self) {
        let mut watcher = self.watcher.clone();
        while !watcher.state().is_terminated() {
            watcher.changed().await;
        }
    }

    /// What a call that was sent then, and was answered by way of the leader, says of the time that is left.
    pub(super) fn remaining(&self, sent: Duration, lease: Duration) -> Duration {
        let mut state = self.lock();
        let certain = state.touches.confirmed(sent).min(state.deadline);
        certain.saturating_sub(sent).min(lease)
    }
}
