//! Elections: the handle, the leader actor, and work that runs while this process leads.

mod actor;
mod builder;
mod course;
mod heard;
mod leader;
mod messages;
mod work;

use std::{fmt, time::Duration};

use actix::Addr;
use simba_backends::{Holder, LeaseName};
use tokio::sync::oneshot;

use self::messages::{StepDown, Stop};
pub(crate) use self::{
    actor::{ElectionActor, Spec},
    leader::{Leader, Roll},
    messages::{LeaderGone, Started},
};
pub use self::{
    builder::ElectionBuilder,
    leader::{Elected, LeaderActor, Revoked},
    work::{Job, WorkOutcome},
};
use crate::{
    Term,
    observe::{ObserveError, Observer},
};

/// An election that was started: a handle, which may be cloned and dropped freely.
///
/// Dropping it changes nothing. The election ends by [`stop`](Self::stop), with its leader actor (one
/// whose address is closed), by [`Simba::close`](crate::Simba::close), and with the last `Simba`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use simba_actors::Simba;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let simba = Simba::connect("memory:").await?;
/// let job = simba.election("ingest")?.run_while_leader(|term| async move {
///     println!("leading with token {}", term.token());
///     term.revoked().await;
/// }).await?;
/// job.election().step_down(Duration::from_secs(30)).await?;
/// job.election().stop().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Election {
    name: LeaseName,
    addr: Addr<ElectionActor>,
    roll: Roll,
    observer: Observer,
}

/// Says that the election has ended, so that there is nothing to step down from.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the election {name} has ended; start it anew")]
pub struct ElectionEnded {
    name: LeaseName,
}

impl Election {
    pub(crate) fn new(addr: Addr<ElectionActor>, roll: Roll, observer: Observer) -> Self {
        Self { name: observer.name().clone(), addr, roll, observer }
    }

    /// Tells the name of the election.
    pub fn name(&self) -> &LeaseName {
        &self.name
    }

    /// Tells the term that runs, or `None` while this process does not lead.
    pub fn term(&self) -> Option<Term> {
        self.roll.term().filter(Term::is_valid)
    }

    /// Lets another actor hear of `Elected` and `Revoked`; of a term that runs, at once.
    ///
    /// It hears them in order, one `Revoked` for each `Elected`, and no release waits for it: only the
    /// leader actor delays a release. It is forgotten once its address is closed.
    pub fn subscribe<A: LeaderActor>(&self, subscriber: &Addr<A>) {
        self.roll.add(subscriber);
    }

    /// Gives up the lead, if this process has it, and stays out for `stay_out`; then contends again.
    ///
    /// Resolves when the storage has confirmed the release, at the latest when the lease would have run
    /// out.
    ///
    /// # Errors
    ///
    /// [`ElectionEnded`] if the election has been stopped, or Simba closed.
    ///
    /// # Cancel safety
    ///
    /// Once polled, the step-down takes place even if the future is dropped.
    pub async fn step_down(&self, stay_out: Duration) -> Result<(), ElectionEnded> {
        let permit = self.observer.gate().enter().await;
        let (reply, answer) = oneshot::channel();
        self.addr.do_send(StepDown { stay_out, reply, permit });
        match answer.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(())) | Err(_) => Err(ElectionEnded { name: self.name.clone() }),
        }
    }

    /// Ends the election: gives up the lead, if this process has it, and contends no more.
    ///
    /// Resolves when the `Revoked` that this causes has been handled and the storage has confirmed the release,
    /// at the latest when the lease would have run out. Nothing is sent to any actor after that. A term that
    /// was ended by force just before is not waited for, nor is an election that has ended already.
    ///
    /// # Cancel safety
    ///
    /// Once polled, the election ends even if the future is dropped.
    pub async fn stop(&self) {
        let permit = self.observer.gate().enter().await;
        let (reply, answer) = oneshot::channel();
        self.addr.do_send(Stop { reply: Some(reply), permit: Some(permit) });
        // No answer means that the actor is gone, and with it the election.
        let _ = answer.await;
    }

    /// Tells who leads, in this process or another.
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
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Election").field("name", &self.name).finish_non_exhaustive()
    }
}
