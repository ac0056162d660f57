//! A simulated storage that keeps the contract, also while it is being broken.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use simba_backends::{
    Acquired, Acquisition, BackendError, Capabilities, ErrorKind, GroupName, HintSource, Holder, Joined,
    KeepAlive, LeaseBackend, LeaseName, Member, Metadata, Opened, Outcome, Release, SessionId, Token,
    memory::MemoryBackend,
};
use simba_tck::{Fault, Outage, Rival, async_trait};
use tokio::time::sleep;

/// How long a client waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// One client of the storage; its clones are the same client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Honest {
    memory: MemoryBackend,
    wire: Arc<Mutex<Wire>>,
    /// Whether this client's wall clock is off.
    pub(crate) is_skewed: bool,
}

#[derive(Debug, Default)]
struct Wire {
    calls: u64,
    outage: Option<Outage>,
    held: BTreeSet<String>,
    corrupt: BTreeSet<LeaseName>,
    /// Sessions whose close failed after it had removed their own record.
    half_closed: BTreeSet<SessionId>,
    rival_is_stopped: bool,
}

/// A rival in the same process, of which only the stopping is real.
pub(crate) struct Stoppable(pub(crate) Honest);

enum Call {
    Read,
    Write,
}

impl Honest {
    pub(crate) fn skewed(&self) -> Self {
        Self { is_skewed: true, ..self.clone() }
    }

    pub(crate) fn hold(&self, key: &str) -> Fault {
        self.wire().held.insert(key.to_owned());
        let (wire, key) = (self.wire.clone(), key.to_owned());
        Fault::new(async move {
            wire.lock().unwrap().held.remove(&key);
        })
    }

    pub(crate) fn is_held(&self, key: &str) -> bool {
        self.wire().held.contains(key)
    }

    pub(crate) fn corrupt(&self, name: &LeaseName) {
        self.wire().corrupt.insert(name.clone());
    }

    pub(crate) fn half_close(&self, session: &SessionId) {
        self.wire().half_closed.insert(session.clone());
    }

    pub(crate) fn is_half_closed(&self, session: &SessionId) -> bool {
        self.wire().half_closed.contains(session)
    }

    pub(crate) fn break_down(&self, outage: Outage) -> Fault {
        self.wire().outage = Some(outage);
        let wire = self.wire.clone();
        Fault::new(async move { wire.lock().unwrap().outage = None })
    }

    pub(crate) fn outage(&self) -> Option<Outage> {
        self.wire().outage
    }

    pub(crate) fn calls(&self) -> u64 {
        self.wire().calls
    }

    pub(crate) fn count(&self, calls: u64) {
        self.wire().calls += calls;
    }

    pub(crate) fn rival_is_stopped(&self) -> bool {
        self.wire().rival_is_stopped
    }

    /// The storage itself, without a wire.
    pub(crate) fn memory(&self) -> &MemoryBackend {
        &self.memory
    }

    pub(crate) async fn flood_hints(&self) {
        let session = self.memory.open_session(TIMEOUT, &Metadata::default()).await.unwrap().session;
        let group = "flood".parse().unwrap();
        for _ in 0..1000 {
            self.memory.join(&session, &group).await.unwrap();
            self.memory.leave(&session, &group).await.unwrap();
        }
    }

    pub(crate) async fn wait_for(&self, key: &str) {
        while self.is_held(key) {
            sleep(Duration::from_millis(1)).await;
        }
    }

    fn wire(&self) -> MutexGuard<'_, Wire> {
        self.wire.lock().unwrap()
    }

    /// The way there.
    async fn send(&self, call: Call) -> Result<(), BackendError> {
        self.count(1);
        tokio::task::yield_now().await;
        let fails = |kind, outcome, message: &str| Err(BackendError::new(kind, outcome, message));
        match (self.outage(), call) {
            (Some(Outage::Refused), _) => {
                fails(ErrorKind::Unavailable, Outcome::NotApplied, "connection refused")
            }
            (Some(Outage::BlackHole), _) => {
                sleep(TIMEOUT).await;
                fails(ErrorKind::Timeout, Outcome::Unknown, "no answer")
            }
            (Some(Outage::Locked), Call::Write) => {
                sleep(TIMEOUT).await;
                fails(ErrorKind::Timeout, Outcome::NotApplied, "somebody holds the lock")
            }
            (Some(Outage::ReadOnly), Call::Write) => {
                fails(ErrorKind::ReadOnly, Outcome::NotApplied, "no writes for now")
            }
            _ => Ok(()),
        }
    }

    fn acquire_failure(&self, name: &LeaseName) -> Option<Acquisition> {
        if self.is_held(name.as_str()) {
            return Some(Acquisition::Held { free_in: None });
        }
        let message = format!("the record of {name} is corrupt: correct it");
        let error = BackendError::new(ErrorKind::Corrupt, Outcome::NotApplied, message);
        self.wire().corrupt.contains(name).then_some(Acquisition::Failed(error))
    }
}

/// The way back, which a caller that gave up never sees.
async fn back<T>(answer: T) -> T {
    tokio::task::yield_now().await;
    answer
}

/// Leases in the part of the storage that can be broken by itself.
pub(crate) fn is_elsewhere(name: &LeaseName) -> bool {
    name.as_str().ends_with('3')
}

#[async_trait]
impl LeaseBackend for Honest {
    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    async fn open_session(&self, lease: Duration, metadata: &Metadata) -> Result<Opened, BackendError> {
        self.send(Call::Write).await?;
        back(self.memory.open_session(lease, metadata).await).await
    }

    async fn keep_alive(&self, session: &SessionId, lease: Duration) -> Result<KeepAlive, BackendError> {
        self.send(Call::Write).await?;
        self.wait_for(session.as_str()).await;
        if self.is_half_closed(session) {
            return back(Ok(KeepAlive::Expired)).await;
        }
        let mut answer = self.memory.keep_alive(session, lease).await;
        if let (Ok(KeepAlive::Live { owned, unknown, .. }), Some(Outage::Part)) = (&mut answer, self.outage())
        {
            unknown.extend(owned.extract_if(.., |(name, _)| is_elsewhere(name)).map(|(name, _)| name));
        }
        back(answer).await
    }

    async fn close_session(&self, session: &SessionId) -> Result<(), BackendError> {
        self.send(Call::Write).await?;
        back(self.memory.close_session(session).await).await
    }

    async fn acquire(&self, session: &SessionId, names: &[LeaseName]) -> Result<Acquired, BackendError> {
        self.send(Call::Write).await?;
        let (mut well, mut failed) = (Vec::new(), Vec::new());
        for name in names {
            match self.acquire_failure(name) {
                Some(failure) => failed.push((name.clone(), failure)),
                None => well.push(name.clone()),
            }
        }
        let mut answer = self.memory.acquire(session, &well).await;
        if let Ok(Acquired::Answers(answers)) = &mut answer {
            answers.append(&mut failed);
        }
        back(answer).await
    }

    async fn release(
        &self,
        session: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        self.send(Call::Write).await?;
        back(self.memory.release(session, leases).await).await
    }

    async fn join(&self, session: &SessionId, group: &GroupName) -> Result<Joined, BackendError> {
        self.send(Call::Write).await?;
        back(self.memory.join(session, group).await).await
    }

    async fn leave(&self, session: &SessionId, group: &GroupName) -> Result<(), BackendError> {
        self.send(Call::Write).await?;
        back(self.memory.leave(session, group).await).await
    }

    async fn members(&self, group: &GroupName) -> Result<Vec<Member>, BackendError> {
        self.send(Call::Read).await?;
        back(self.memory.members(group).await).await
    }

    async fn inspect(&self, name: &LeaseName) -> Result<Option<Holder>, BackendError> {
        self.send(Call::Read).await?;
        back(self.memory.inspect(name).await).await
    }

    fn hints(&self) -> Option<Box<dyn HintSource>> {
        self.memory.hints()
    }
}

#[async_trait]
impl Rival for Stoppable {
    async fn stop(&mut self) {
        self.0.wire().rival_is_stopped = true;
    }

    async fn resume(&mut self) {
        self.0.wire().rival_is_stopped = false;
    }

    async fn kill(&mut self) {}
}
