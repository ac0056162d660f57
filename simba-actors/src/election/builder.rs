//! How an election is started.

use actix::Addr;
use simba_backends::{Holder, LeaseName};
use tokio::sync::oneshot;

use super::{
    Election, Job, LeaderActor, WorkOutcome,
    leader::{Leader, Listener, Roll},
    work,
};
use crate::{
    Term,
    observe::{ObserveError, Observer},
    session::{SessionActor, StartElection, StartError},
};

/// An election that was named and not started; dropping it does nothing.
///
/// # Examples
///
/// ```
/// use simba_actors::Simba;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let simba = Simba::connect("memory:").await?;
/// match simba.election("dispatcher")?.leader().await? {
///     Some(holder) => println!("{} leads with token {}", holder.metadata, holder.token),
///     None => println!("nobody leads"),
/// }
/// # Ok(()) }
/// ```
#[must_use = "an election contends once it is started"]
pub struct ElectionBuilder {
    session: Addr<SessionActor>,
    observer: Observer,
}

impl ElectionBuilder {
    pub(crate) fn new(session: Addr<SessionActor>, observer: Observer) -> Self {
        Self { session, observer }
    }

    /// Tells the name of the election.
    pub fn name(&self) -> &LeaseName {
        self.observer.name()
    }

    /// Contends for the lead from now on, for an actor that hears `Elected` and `Revoked`.
    ///
    /// Resolves when the election is started, not when it is won. It ends with the actor: keep an
    /// address of it for as long as it is to lead.
    ///
    /// # Errors
    ///
    /// [`StartError::InUse`] if this Simba uses the name already, [`StartError::Closed`] after a close.
    ///
    /// # Cancel safety
    ///
    /// An election whose start was dropped is stopped again; a term that it won meanwhile is released.
    pub async fn start<A: LeaderActor>(self, leader: &Addr<A>) -> Result<Election, StartError> {
        self.start_for(Leader::Actor(Listener::new(leader))).await
    }

    /// Contends for the lead, and runs `work` for each term on the tokio runtime that calls.
    ///
    /// The work is dropped at the end of its term, and the lease is released only then. Work that
    /// returns while its term is valid releases it and contends again after half a renew interval;
    /// work that returns [`ControlFlow::Break`](std::ops::ControlFlow::Break) ends the job with that value.
    /// Work that panics releases, and contends again after one lease.
    ///
    /// # Errors
    ///
    /// [`StartError::InUse`] if this Simba uses the name already, [`StartError::Closed`] after a close.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime (actix has one).
    ///
    /// # Cancel safety
    ///
    /// As [`start`](Self::start).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use simba_actors::Simba;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let simba = Simba::connect("memory:").await?;
    /// let job = simba.election("migrate")?.run_while_leader(|term| async move {
    ///     ControlFlow::Break(term.token().get())
    /// }).await?;
    /// assert_eq!(job.join().await, Some(1));
    /// # Ok(()) }
    /// ```
    pub async fn run_while_leader<W, F>(
        self,
        work: W,
    ) -> Result<Job<<F::Output as WorkOutcome>::Value>, StartError>
    where
        W: FnMut(Term) -> F + Send + 'static,
        F: Future<Output: WorkOutcome> + Send + 'static,
    {
        let (terms, taken) = tokio::sync::mpsc::unbounded_channel();
        let election = self.start_for(Leader::Work(Some(terms).into())).await?;
        Ok(work::spawn(election, taken, work))
    }

    /// Tells who leads, without contending.
    ///
    /// # Errors
    ///
    /// [`ObserveError`] if the storage cannot be asked.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect.
    pub async fn leader(&self) -> Result<Option<Holder>, ObserveError> {
        self.observer.holder().await
    }

    async fn start_for(self, leader: Leader) -> Result<Election, StartError> {
        let permit = self.observer.gate().enter().await;
        let (roll, (reply, answer)) = (Roll::default(), oneshot::channel());
        let name = self.observer.name().clone();
        self.session.do_send(StartElection { name, leader, roll: roll.clone(), reply, permit });
        let started = answer.await.unwrap_or(Err(StartError::Closed))?;
        Ok(Election::new(started.take(), roll, self.observer))
    }
}
