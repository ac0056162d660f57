//! A cluster: calls go to the node that serves their slot.
//!
//! The driver's own cluster connection keeps one queue for all nodes; here each node has its own connections, and a
//! node that does not answer holds up the calls to its slots, no others. No lock is held across an `await`.
//!
//! A call goes again only when it was certainly not run: the node refused it before it began, or nothing was sent.

mod address;
mod member;
mod refresh;
mod report;
mod slots;
mod step;
mod table;
mod trip;

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use redis::{Cmd, ConnectionInfo, PushInfo, Value, aio::MultiplexedConnection};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use self::{address::Address, member::Member, refresh::Rounds, step::Step, table::Table, trip::Trip};
use super::{
    error::meaning,
    key,
    node::{Failure, Lane, Manner},
    script::Call,
};
use crate::{BackendError, ErrorKind, Outcome};

/// How long a node has to answer a question about the map.
const QUESTION_LIMIT: Duration = Duration::from_secs(1);
/// How long a connection may take before the slot is looked for elsewhere meanwhile.
const SLOW: Duration = Duration::from_millis(200);

pub(super) struct Cluster {
    shared: Arc<Shared>,
    /// Counts subscriptions, so that the next one is on another node.
    subscriptions: AtomicUsize,
}

/// What calls and the rounds of questions have in common.
struct Shared {
    place: Arc<str>,
    /// Held for a look or a change, never across an `await`.
    table: RwLock<Table>,
    rounds: Rounds,
    /// Why a node did not tell the map.
    refusal: Mutex<Option<BackendError>>,
}

/// Whom to go to next, and how; without one to the slot's owner.
type Next = Option<(Arc<Member>, Manner)>;

impl Cluster {
    /// With some of its nodes. Every other is reached with the settings of the first, at the host and port that the
    /// cluster announces (with TLS its certificate must be good for that host).
    ///
    /// # Errors
    /// Seeds that no cluster can have: none, a database other than 0, a socket that is a file.
    pub(super) fn new(place: String, seeds: &[ConnectionInfo]) -> Result<Self, BackendError> {
        let place: Arc<str> = place.into();
        let table = RwLock::new(Table::new(Arc::clone(&place), seeds)?);
        let shared = Shared { place, table, rounds: Rounds::default(), refusal: Mutex::default() };
        Ok(Self { shared: Arc::new(shared), subscriptions: AtomicUsize::new(0) })
    }

    /// Its name, without a secret.
    pub(super) fn place(&self) -> &str {
        &self.shared.place
    }

    /// Runs a script where the slot of its first key is served, within `limit` for everything that takes.
    ///
    /// # Errors
    /// With the outcome unknown only when the call was sent and not answered.
    ///
    /// # Cancel safety
    /// It may be run all the same; no connection is left in the middle of an exchange.
    pub(super) async fn run(&self, lane: Lane, call: &Call, limit: Duration) -> Result<Value, BackendError> {
        let mut trip = Trip::new(limit);
        let slot = key::slot(call.first_key());
        let mut next: Next = None;
        loop {
            let (member, manner) = match next {
                Some(next) => next,
                None => (self.owner(slot, &mut trip).await?, Manner::Plain),
            };
            if manner == Manner::Plain
                && let Err(failure) = self.connect(lane, slot, &member, &trip).await
            {
                next = self.after(failure, slot, &member, &mut trip).await?;
                continue;
            }
            next = match member.run(lane, call, manner, trip.left()).await {
                Ok(value) => return Ok(value),
                Err(failure) => self.after(failure, slot, &member, &mut trip).await?,
            };
        }
    }

    /// Sends a command that belongs to no key, to whichever primary can be reached.
    ///
    /// # Errors
    /// The last one's, or that of the one that it was sent to.
    pub(super) async fn command(&self, command: &Cmd, limit: Duration) -> Result<Value, BackendError> {
        let trip = Trip::new(limit);
        let mut last = None;
        for (member, share) in shares(self.candidates(0, &trip).await, &trip) {
            match member.command(command, share()).await {
                Ok(value) => return Ok(value),
                Err(failure) => {
                    let sent = !matches!(failure, Failure::NotConnected(_) | Failure::NotConnectedInTime);
                    let error = self.lost(&member, failure);
                    if sent {
                        return Err(error);
                    }
                    last = Some(error);
                }
            }
        }
        Err(last.unwrap_or_else(|| self.shared.unknown()))
    }

    /// Opens a connection that hears what is published anywhere in the cluster, each time on another node, and last
    /// on those that did not answer.
    ///
    /// # Errors
    /// The last one's that was tried.
    pub(super) async fn subscriber(
        &self,
        pushes: mpsc::UnboundedSender<PushInfo>,
        limit: Duration,
    ) -> Result<MultiplexedConnection, BackendError> {
        let trip = Trip::new(limit);
        let turn = self.subscriptions.fetch_add(1, Relaxed);
        let mut last = None;
        for (member, share) in shares(self.candidates(turn, &trip).await, &trip) {
            let failure = match timeout(share(), member.node().subscriber(pushes.clone())).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => Failure::NotConnected(error),
                Err(_) => Failure::NotConnectedInTime,
            };
            last = Some(self.lost(&member, failure));
        }
        Err(last.unwrap_or_else(|| self.shared.unknown()))
    }

    /// Closes all connections once nothing is under way on them.
    pub(super) fn let_go(&self) {
        for member in self.shared.table().members() {
            member.node().let_go();
        }
    }

    /// The node that serves a slot, as far as is known; only who knows nothing waits.
    async fn owner(&self, slot: u16, trip: &mut Trip) -> Result<Arc<Member>, BackendError> {
        loop {
            if let Some(owner) = self.shared.owner(slot) {
                return Ok(owner);
            }
            // Out of time or not, the table tells.
            let _ = timeout(trip.left(), self.shared.fresh_map()).await;
            if let Some(owner) = self.shared.owner(slot) {
                return Ok(owner);
            }
            if self.shared.table().is_empty() {
                let error = self.shared.unknown();
                if error.kind() != ErrorKind::Timeout {
                    return Err(error);
                }
                trip.pause(error).await?;
            } else {
                let message = format!("no node of {} serves slot {slot} for now", self.place());
                trip.pause(BackendError::new(ErrorKind::Unavailable, Outcome::NotApplied, message)).await?;
            }
        }
    }

    /// Sees to it that there is a connection. Nothing of the call is sent, so it may go elsewhere until then.
    async fn connect(&self, lane: Lane, slot: u16, member: &Member, trip: &Trip) -> Result<(), Failure> {
        tokio::select! {
            biased;
            connected = member.connect(lane) => connected,
            () = self.leaves(slot, member.address()) => Err(Failure::NotConnectedInTime),
            () = sleep(trip.left()) => Err(Failure::NotConnectedInTime),
        }
    }

    /// Ends when the slot is known to belong to another, which is asked for once it has been waited for a while.
    async fn leaves(&self, slot: u16, address: &Address) {
        loop {
            sleep(SLOW).await;
            self.shared.fresh_map().await;
            if self.shared.is_elsewhere(slot, address) {
                return;
            }
        }
    }

    /// Where a call goes that `member` has failed, unless that is its end.
    async fn after(
        &self,
        failure: Failure,
        slot: u16,
        member: &Member,
        trip: &mut Trip,
    ) -> Result<Next, BackendError> {
        let step = Step::after(&failure, member.address().host());
        tracing::debug!(node = %member.address(), slot, ?step, "a call was not answered by its node");
        let error = meaning(member.place(), failure);
        match step {
            Step::Stop => Err(error),
            Step::Suspect => {
                self.shared.want_map();
                Err(error)
            }
            // A script that had begun when it was refused is not run twice.
            Step::Pause if error.outcome() == Outcome::Unknown => Err(error),
            Step::Pause => {
                self.shared.want_map();
                trip.pause(error).await?;
                Ok(None)
            }
            Step::Reroute => self.reroute(error, slot, member, trip).await,
            Step::Moved(Some(to)) => {
                trip.hop(self.on_the_move(slot)).await?;
                let member = self.shared.table_mut().note(slot, &to);
                self.shared.want_map();
                Ok(member.map(|member| (member, Manner::Plain)))
            }
            Step::Ask(Some(to)) => {
                trip.hop(self.on_the_move(slot)).await?;
                let member = self.shared.table_mut().member(&to);
                Ok(member.map(|member| (member, Manner::Asking)))
            }
            Step::Moved(None) | Step::Ask(None) => {
                self.shared.want_map();
                trip.pause(self.on_the_move(slot)).await?;
                Ok(None)
            }
        }
    }

    /// Nothing was sent: to the owner, if that is another by now.
    async fn reroute(
        &self,
        error: BackendError,
        slot: u16,
        member: &Member,
        trip: &mut Trip,
    ) -> Result<Next, BackendError> {
        if !self.shared.is_elsewhere(slot, member.address()) {
            // Out of time or not, the table tells.
            let _ = timeout(trip.left(), self.shared.fresh_map()).await;
            if !self.shared.is_elsewhere(slot, member.address()) {
                return Err(error);
            }
        }
        trip.hop(error).await?;
        Ok(None)
    }

    fn on_the_move(&self, slot: u16) -> BackendError {
        let message =
            format!("slot {slot} of {} is on the move: its nodes send calls to and fro", self.place());
        BackendError::new(ErrorKind::Unavailable, Outcome::NotApplied, message)
    }

    /// What a failure means that has nothing to do with a slot.
    fn lost(&self, member: &Member, failure: Failure) -> BackendError {
        self.shared.want_map();
        meaning(member.place(), failure)
    }

    /// The primaries from the `turn`th on, those that did not answer last.
    async fn candidates(&self, turn: usize, trip: &Trip) -> Vec<Arc<Member>> {
        if self.shared.table().is_empty() {
            // The seeds are there in any case.
            let _ = timeout(trip.left(), self.shared.fresh_map()).await;
        }
        let mut candidates = self.shared.table().primaries();
        if !candidates.is_empty() {
            let places = candidates.len();
            candidates.rotate_left(turn % places);
        }
        candidates.sort_by_key(|member| member.is_failing());
        candidates
    }
}

/// Each candidate with the time it may take: half of what is left, the last one all.
fn shares(
    candidates: Vec<Arc<Member>>,
    trip: &Trip,
) -> impl Iterator<Item = (Arc<Member>, impl Fn() -> Duration)> {
    let last = candidates.len().saturating_sub(1);
    let shared = candidates.into_iter().enumerate();
    shared.map(move |(i, member)| (member, move || if i == last { trip.left() } else { trip.left() / 2 }))
}

impl Shared {
    fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn owner(&self, slot: u16) -> Option<Arc<Member>> {
        self.table().owner(slot)
    }

    /// Whether a slot has an owner of another address.
    fn is_elsewhere(&self, slot: u16, address: &Address) -> bool {
        self.owner(slot).is_some_and(|owner| owner.address() != address)
    }

    /// Remembers why a node did not tell the map.
    fn refused(&self, error: BackendError) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Why nothing is known of the cluster.
    fn unknown(&self) -> BackendError {
        let refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // The question was in vain, the call was never sent.
        refusal.map_or_else(
            || {
                let message = format!("no node of {} has answered in time", self.place);
                BackendError::new(ErrorKind::Timeout, Outcome::NotApplied, message)
            },
            |refusal| refusal.with_outcome(Outcome::NotApplied),
        )
    }
}
