//! One term: from winning a lease to its end, visible from any thread.

mod cell;
mod error;
mod registry;
mod step;

use std::{
    fmt,
    future::{Future, poll_fn},
    sync::Arc,
    task::Poll,
    time::Duration,
};

pub(crate) use cell::Lapsed;
pub use error::TermError;
pub(crate) use registry::Terms;
use simba_backends::{LeaseName, SessionId, Token};
pub use step::Step;

use crate::{
    clock::{Clock, LOOK},
    engine::{Instant, Reason},
};

/// Stands for one term of a name: who won it, with which fencing token, and until when it is valid.
///
/// A clone is a reference count and shows the same term; any thread may ask it, without a lock.
///
/// # Guarantees
///
/// - Validity falls once: no thread sees a term invalid and later valid.
/// - [`is_valid`](Self::is_valid) compares the clock with the deadline at every call, so a process that
///   was stopped for an hour sees `false` before it has handled any message.
/// - At most one valid term per name exists as long as clocks run right within the configured drift and
///   the storage loses nothing. A resource that must survive the rest compares [`token`](Self::token)s:
///   it accepts a token at least as high as the highest it has seen, atomically with the write.
///
/// # Blocking work
///
/// A thread that blocks cannot be stopped from outside. It asks for each [`step`](Self::step), for at least as
/// long as the step takes. A stop or close that comes meanwhile then hands over only when the step is done:
///
/// ```
/// use std::time::Duration;
/// use simba_actors::{Term, TermError};
///
/// async fn import(term: Term, files: Vec<String>) -> Result<usize, TermError> {
///     let work = tokio::task::spawn_blocking(move || {
///         for file in &files {
///             let _step = term.step(Duration::from_secs(2))?;
///             import_file(file, term.token().get());
///         }
///         Ok(files.len())
///     });
///     work.await.expect("importing does not panic")
/// }
/// # fn import_file(_: &str, _: u64) {}
/// ```
///
/// # Examples
///
/// ```
/// use simba_actors::{Reason, Term};
///
/// async fn lead(term: Term) {
///     match term.run(serve_requests(term.token().get())).await {
///         Ok(()) => println!("done"),
///         Err(Reason::Stopped) => println!("stopped on request"),
///         Err(reason) => println!("no longer the leader: {reason}"),
///     }
/// }
/// # async fn serve_requests(_: u64) {}
/// ```
#[derive(Clone)]
pub struct Term(Arc<Inner>);

struct Inner {
    name: LeaseName,
    token: Token,
    session: SessionId,
    cell: cell::Cell,
    steps: step::Steps,
}

impl Term {
    /// Starts a term; `valid_until` is a point of `clock`.
    pub(crate) fn start(
        name: LeaseName,
        token: Token,
        session: SessionId,
        clock: Clock,
        valid_until: Instant,
    ) -> Self {
        let cell = cell::Cell::new(clock, valid_until);
        Self(Arc::new(Inner { name, token, session, cell, steps: step::Steps::default() }))
    }

    /// Tells the name of the lease.
    pub fn name(&self) -> &LeaseName {
        &self.0.name
    }

    /// Tells the fencing token, which rises with every term of the name.
    pub fn token(&self) -> Token {
        self.0.token
    }

    /// Tells the session that holds the lease.
    pub fn session(&self) -> &SessionId {
        &self.0.session
    }

    /// Says whether the term is valid at this moment.
    ///
    /// Costs one load and one look at the clock, tens of nanoseconds: ask as often as you like.
    #[inline]
    pub fn is_valid(&self) -> bool {
        !self.0.cell.remaining().is_zero()
    }

    /// Tells for how long the term is valid if no further keep-alive is answered; zero once it has ended.
    #[inline]
    pub fn remaining(&self) -> Duration {
        self.0.cell.remaining()
    }

    /// Tells how much time a deliberate end leaves for finishing; zero while the term is valid, and after
    /// an end that was not deliberate.
    ///
    /// Until then nobody else has the lease, although this term is no longer valid.
    pub fn hand_over_remaining(&self) -> Duration {
        self.0.cell.hand_over_remaining()
    }

    /// Tells why the term has ended; `None` while it is valid.
    pub fn reason(&self) -> Option<Reason> {
        self.0.cell.reason().get().copied()
    }

    /// Checks that the term is valid for at least `min` more, even if no further keep-alive is answered, and
    /// unless it is ended deliberately: work that a stop or close must wait for takes a [`step`](Self::step).
    ///
    /// # Errors
    ///
    /// [`TermError::Ended`] when it has ended: stop the work. [`TermError::TooShort`] when less than `min`
    /// is left: wait for the next keep-alive, or do less at once.
    pub fn ensure_valid(&self, min: Duration) -> Result<(), TermError> {
        let (name, token, needed) = (self.name(), self.token(), min);
        let left = self.remaining();
        if left.is_zero() {
            // Another thread may be between ending the term and giving the reason.
            let reason = self.reason().unwrap_or(Reason::Deadline);
            return Err(TermError::Ended { name: name.clone(), token, reason, needed });
        }
        if left < min {
            return Err(TermError::TooShort { name: name.clone(), token, left, needed });
        }
        Ok(())
    }

    /// Checks that the term is valid for at least `min` more, and lets a deliberate end wait for the step: until
    /// the [`Step`] is dropped nobody else gets the lease, at most until the term would have ended by itself.
    ///
    /// For work that cannot be dropped in its middle: blocking calls, spawned tasks, a write that was sent.
    ///
    /// # Errors
    ///
    /// As [`ensure_valid`](Self::ensure_valid).
    pub fn step(&self, min: Duration) -> Result<Step, TermError> {
        self.0.steps.begin();
        // From here on its drop counts it out again.
        let step = Step::new(self.clone());
        self.ensure_valid(min).map(|()| step)
    }

    /// Whether steps are under way that a hand-over has to wait for.
    pub(crate) fn is_in_step(&self) -> bool {
        self.0.steps.any()
    }

    /// Waits until no step is under way.
    pub(crate) async fn steps_over(self) {
        self.0.steps.over().await;
    }

    /// Waits for the end of the term and tells its reason.
    ///
    /// Works in any runtime. The end is announced by Simba's thread: after a suspend of the host it may
    /// come later than [`is_valid`](Self::is_valid) turns false.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future has no effect; another call waits anew, and resolves at once after the end.
    pub async fn revoked(&self) -> Reason {
        *self.0.cell.reason().wait().await
    }

    /// Runs `work` for as long as the term is valid.
    ///
    /// The future is dropped at the end of the term, whatever its reason; of a term that has ended it is
    /// never polled. The clock is asked before each poll of the work, and at least every 250 ms. `Ok` says
    /// that the work is complete, not that the term is still valid.
    ///
    /// # Errors
    ///
    /// The [`Reason`] for which the term ended before the work was complete.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with timers (actix has one).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the work; the term goes on.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, Reason> {
        tokio::select! {
            biased;
            () = self.ended() => Err(self.revoked().await),
            output = work => Ok(output),
        }
    }

    /// Resolves at the first poll that finds the term invalid, and sees to it that there is one in time.
    async fn ended(&self) {
        let mut revoked = std::pin::pin!(self.revoked());
        let mut look = std::pin::pin!(tokio::time::sleep(LOOK.min(self.remaining())));
        poll_fn(|cx| {
            while self.is_valid() {
                if revoked.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                if look.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                look.set(tokio::time::sleep(LOOK.min(self.remaining())));
            }
            Poll::Ready(())
        })
        .await;
    }

    /// Moves the deadline to `until`, if the old one has not passed at `now` and nobody has seen it passed.
    pub(crate) fn extend(&self, now: Instant, until: Instant) -> Result<(), Lapsed> {
        self.0.cell.extend(now, until)
    }

    /// Begins a deliberate end: the term is invalid, its deadline is the one of the hand-over.
    pub(crate) fn freeze(&self, reason: Reason) {
        self.0.cell.freeze(reason);
    }

    /// Ends the term, or its hand-over, at once. The first reason stays.
    pub(crate) fn end(&self, reason: Reason) {
        self.0.cell.end(reason);
    }
}

impl fmt::Debug for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Term")
            .field("name", self.name())
            .field("token", &self.token())
            .field("session", self.session())
            .field("remaining", &self.remaining())
            .field("reason", &self.reason())
            .finish()
    }
}

#[cfg(test)]
mod tests;
