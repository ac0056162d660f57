//! The way of a script's call to the node that serves its slot.

use std::{sync::Arc, time::Duration};

use redis::Value;
use tokio::time::{sleep, timeout};

use super::{
    super::{
        error::meaning,
        key,
        node::{Failure, Lane, Manner},
        script::Call,
    },
    Cluster,
    address::Address,
    member::Member,
    step::Step,
    trip::Trip,
};
use crate::{BackendError, ErrorKind, Outcome};

/// How long a connection may take before the slot is looked for elsewhere meanwhile.
const SLOW: Duration = Duration::from_millis(200);

/// Whom to go to next, and how; without one to the slot's owner.
type Next = Option<(Arc<Member>, Manner)>;

impl Cluster {
    /// Runs a script where the slot of its first key is served, within `limit` for everything that takes.
    ///
    /// # Errors
    /// With the outcome unknown only when the call was sent and not answered.
    ///
    /// # Cancel safety
    /// It may be run all the same; no connection is left in the middle of an exchange.
    pub(in crate::redis) async fn run(
        &self,
        lane: Lane,
        call: &Call,
        limit: Duration,
    ) -> Result<Value, BackendError> {
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
}
