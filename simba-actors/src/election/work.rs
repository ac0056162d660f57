//! Work that runs while this process leads.

use std::{fmt, ops::ControlFlow, panic::AssertUnwindSafe};

use futures_util::FutureExt;
use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    Election,
    messages::{WorkEnd, WorkEnded},
};
use crate::Term;

/// What work may return: `()` to lead again, or a [`ControlFlow`] that can end the job with a value.
pub trait WorkOutcome: sealed::Sealed + Send + 'static {
    /// The value that ends the job.
    type Value: Send + 'static;

    /// Whether the job goes on.
    fn control(self) -> ControlFlow<Self::Value>;
}

impl WorkOutcome for () {
    type Value = std::convert::Infallible;

    fn control(self) -> ControlFlow<Self::Value> {
        ControlFlow::Continue(())
    }
}

impl<T: Send + 'static> WorkOutcome for ControlFlow<T> {
    type Value = T;

    fn control(self) -> ControlFlow<T> {
        self
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<T> Sealed for std::ops::ControlFlow<T> {}
}

/// Work that runs whenever this process leads.
///
/// Dropping it changes nothing: the job goes on until it ends by its own value, is stopped, Simba is closed,
/// or the runtime that it was started on ends.
///
/// # Examples
///
/// ```
/// use simba_actors::Simba;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let simba = Simba::connect("memory:").await?;
/// let job = simba.election("ingest")?.run_while_leader(|term| async move {
///     term.revoked().await;
/// }).await?;
/// assert_eq!(job.election().name().as_str(), "ingest");
/// job.stop().await;
/// assert_eq!(job.join().await, None);
/// # Ok(()) }
/// ```
pub struct Job<T> {
    election: Election,
    task: JoinHandle<Option<T>>,
}

impl<T> Job<T> {
    /// The election behind the job: step down, subscribe, ask who leads.
    pub fn election(&self) -> &Election {
        &self.election
    }

    /// Ends the job: drops the work, gives up the lead and contends no more. [`join`](Self::join) tells when
    /// the work is gone also where its term was ended by force just before.
    ///
    /// # Cancel safety
    ///
    /// Once polled, the job ends even if the future is dropped.
    pub async fn stop(&self) {
        self.election.stop().await;
    }

    /// Waits for the end of the job; `None` if it was stopped, or closed, or its runtime is gone.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops this handle; the job goes on.
    pub async fn join(self) -> Option<T> {
        self.task.await.ok().flatten()
    }
}

impl<T> fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("election", &self.election).finish_non_exhaustive()
    }
}

pub(super) fn spawn<W, F>(
    election: Election,
    terms: mpsc::UnboundedReceiver<Term>,
    work: W,
) -> Job<<F::Output as WorkOutcome>::Value>
where
    W: FnMut(Term) -> F + Send + 'static,
    F: Future<Output: WorkOutcome> + Send + 'static,
{
    let task = tokio::spawn(work_through(election.clone(), terms, work));
    Job { election, task }
}

/// Works for one term after the other. The end of this task closes the channel, which ends the election.
async fn work_through<W, F>(
    election: Election,
    mut terms: mpsc::UnboundedReceiver<Term>,
    mut work: W,
) -> Option<<F::Output as WorkOutcome>::Value>
where
    W: FnMut(Term) -> F,
    F: Future<Output: WorkOutcome>,
{
    while let Some(term) = terms.recv().await {
        let (how, value) = work_for(&term, &mut work).await;
        election.addr.do_send(WorkEnded { token: term.token(), how });
        if value.is_some() {
            election.stop().await;
            return value;
        }
    }
    None
}

/// Works for one term. The work is gone when this returns, however it ended.
async fn work_for<W, F>(term: &Term, work: &mut W) -> (WorkEnd, Option<<F::Output as WorkOutcome>::Value>)
where
    W: FnMut(Term) -> F,
    F: Future<Output: WorkOutcome>,
{
    // Calling the closure may panic as well as polling its future.
    let work = async { work(term.clone()).await };
    match AssertUnwindSafe(term.run(work)).catch_unwind().await {
        Err(_panic) => (WorkEnd::Panicked, None),
        Ok(Err(_reason)) => (WorkEnd::Dropped, None),
        Ok(Ok(outcome)) => match outcome.control() {
            ControlFlow::Continue(()) => (WorkEnd::Returned, None),
            ControlFlow::Break(value) => (WorkEnd::Finished, Some(value)),
        },
    }
}
