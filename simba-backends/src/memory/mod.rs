//! The storage in this process's memory: for tests, and the readable specification of the contract.
//!
//! [`store`](self) decides everything as plain functions of its state and the time; this file only puts
//! a lock and a clock around it. Time is tokio's, so a paused runtime drives it.

mod hints;
mod registry;
mod store;

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::{sync::broadcast, time::Instant};

use self::{hints::MemoryHints, store::Store};
use crate::{
    Acquired, BackendError, Capabilities, GroupName, Hint, HintSource, Holder, Joined, KeepAlive,
    LeaseBackend, LeaseName, Member, Metadata, Opened, Release, SessionId, Token,
};

/// How many hints a subscriber may lag behind before it is told of a gap.
const HINT_BUFFER: usize = 1024;

/// A storage in memory, shared by its clones and by everyone who [names](Self::named) it.
///
/// Loses everything when the last of them is dropped. Tokens are therefore not durable.
///
/// ```
/// use simba_backends::memory::MemoryBackend;
/// let backend = MemoryBackend::new();
/// let for_another_simba = backend.clone();
/// ```
#[derive(Clone)]
pub struct MemoryBackend {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    /// Held for single, short, synchronous steps only: never across an await.
    store: std::sync::Mutex<Store>,
    released: broadcast::Sender<Hint>,
    /// Where the store's time begins.
    origin: Instant,
}

impl MemoryBackend {
    /// A storage of its own.
    pub fn new() -> Self {
        Self { shared: Arc::new(Shared::new()) }
    }

    /// The storage of that name in this process, made if nobody has it.
    pub fn named(name: &str) -> Self {
        Self { shared: registry::shared(name) }
    }

    /// Runs one step of the store at the present time and publishes the leases it freed.
    fn step<T>(&self, step: impl FnOnce(&mut Store, Duration) -> T) -> T {
        let mut store = self.shared.store.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let answer = step(&mut store, self.shared.now());
        for hint in store.take_hints() {
            // An error only says that nobody subscribes.
            let _ = self.shared.released.send(hint);
        }
        answer
    }
}

impl Shared {
    fn new() -> Self {
        let (released, _) = broadcast::channel(HINT_BUFFER);
        Self { store: std::sync::Mutex::default(), released, origin: now() }
    }

    fn now(&self) -> Duration {
        now().saturating_duration_since(self.origin)
    }
}

#[expect(clippy::disallowed_methods, reason = "this storage's own clock, which a paused runtime drives")]
fn now() -> Instant {
    Instant::now()
}

impl Default for MemoryBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBackend").finish_non_exhaustive()
    }
}

#[async_trait]
impl LeaseBackend for MemoryBackend {
    fn capabilities(&self) -> Capabilities {
        Capabilities { hints: true, one_call_keep_alive: true, ..Capabilities::default() }
    }

    async fn open_session(&self, lease: Duration, metadata: &Metadata) -> Result<Opened, BackendError> {
        let session = SessionId::random();
        self.step(|store, now| store.open(now, session.clone(), lease, metadata.clone()));
        Ok(Opened { session, remaining: lease })
    }

    async fn keep_alive(&self, session: &SessionId, lease: Duration) -> Result<KeepAlive, BackendError> {
        Ok(self.step(|store, now| store.keep_alive(now, session, lease)))
    }

    async fn close_session(&self, session: &SessionId) -> Result<(), BackendError> {
        self.step(|store, _| store.remove(session));
        Ok(())
    }

    async fn acquire(&self, session: &SessionId, names: &[LeaseName]) -> Result<Acquired, BackendError> {
        Ok(self.step(|store, now| store.acquire(now, session, names)))
    }

    async fn release(
        &self,
        session: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        self.step(|store, _| {
            for (name, token) in leases {
                store.release(session, name, *token);
            }
        });
        Ok(leases.iter().map(|(name, _)| (name.clone(), Release::Gone)).collect())
    }

    async fn join(&self, session: &SessionId, group: &GroupName) -> Result<Joined, BackendError> {
        Ok(self.step(|store, now| store.join(now, session, group)))
    }

    async fn leave(&self, session: &SessionId, group: &GroupName) -> Result<(), BackendError> {
        self.step(|store, _| store.leave(session, group));
        Ok(())
    }

    async fn members(&self, group: &GroupName) -> Result<Vec<Member>, BackendError> {
        Ok(self.step(|store, now| store.members(now, group)))
    }

    async fn inspect(&self, name: &LeaseName) -> Result<Option<Holder>, BackendError> {
        Ok(self.step(|store, now| store.inspect(now, name)))
    }

    fn hints(&self) -> Option<Box<dyn HintSource>> {
        Some(Box::new(MemoryHints::new(self.clone())))
    }
}
