//! A cluster: calls go to the node that serves their slot.
//!
//! Each node has its own connections, and one that does not answer holds up the calls to its slots, no others. No
//! lock is held across an `await`. The driver's own cluster connection is not used: when a node freezes it stays
//! with it, and its slots fail after the fail-over as before (measured with redis 1.8.1).
//!
//! A call goes again only when it was certainly not run: the node refused it before it began, or nothing was sent.

mod address;
mod member;
mod refresh;
mod report;
mod route;
mod slots;
mod step;
mod table;
mod trip;

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::join_all;
use redis::{Cmd, ConnectionInfo, PushInfo, Value, aio::MultiplexedConnection};
use tokio::{sync::mpsc, time::timeout};

use self::{address::Address, member::Member, refresh::Rounds, table::Table, trip::Trip};
use super::{error::meaning, node::Failure};
use crate::{BackendError, ErrorKind, Outcome};

/// How long a node has to answer a question about the map.
const QUESTION_LIMIT: Duration = Duration::from_secs(1);

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

    /// Sends a command that changes nothing to every primary, and tells what those say that answer.
    pub(super) async fn ask_all(&self, command: &Cmd, limit: Duration) -> Vec<Value> {
        let primaries = self.shared.table().primaries();
        let asked = primaries.iter().map(|member| member.command(command, limit));
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// Draws until each primary serves the slot of something drawn, and gives one for each. None where there are more
    /// primaries than luck can find.
    pub(super) fn one_for_each<T>(&self, draw: impl Fn() -> T, slot_of: impl Fn(&T) -> u16) -> Vec<T> {
        const MOST_DRAWN: usize = 20_000;
        let mut left = self.shared.table().primaries();
        let mut found = Vec::with_capacity(left.len());
        for _ in 0..MOST_DRAWN {
            if left.is_empty() {
                break;
            }
            let drawn = draw();
            let owner = self.shared.owner(slot_of(&drawn));
            let place =
                left.iter().position(|member| owner.as_ref().is_some_and(|owner| Arc::ptr_eq(owner, member)));
            if let Some(place) = place {
                left.swap_remove(place);
                found.push(drawn);
            }
        }
        found
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
            member.fails();
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
