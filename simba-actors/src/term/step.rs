//! Steps of a term's work that nothing can interrupt, and that a hand-over waits for.

use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering, fence},
};

use tokio::sync::Notify;

use super::Term;

/// Work under way for a term. While it exists, a deliberate end does not hand the lease over, at most until
/// the term would have ended by itself.
///
/// Made by [`Term::step`]. Send it into the thread or task that does the work, and drop it when that is done.
#[must_use = "dropping it says that the step is over"]
pub struct Step(Term);

/// How many steps are under way.
#[derive(Debug, Default)]
pub(super) struct Steps {
    under_way: AtomicUsize,
    over: Notify,
}

impl Steps {
    /// Counts one more. The caller looks afterwards whether the term is valid.
    pub(super) fn begin(&self) {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        // Pairs with the fence in `any`: either the step sees the end of the term, or the end sees the step.
        fence(Ordering::SeqCst);
    }

    fn end(&self) {
        if self.under_way.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.over.notify_waiters();
        }
    }

    /// Asked once the term has ended.
    pub(super) fn any(&self) -> bool {
        fence(Ordering::SeqCst);
        self.under_way.load(Ordering::Acquire) > 0
    }

    /// Waits until none is under way.
    pub(super) async fn over(&self) {
        loop {
            let mut over = std::pin::pin!(self.over.notified());
            // From here on no end is missed.
            over.as_mut().enable();
            if !self.any() {
                return;
            }
            over.await;
        }
    }
}

impl Step {
    /// Of a step that was counted already.
    pub(super) fn new(term: Term) -> Self {
        Self(term)
    }

    /// The term that the step works for.
    pub fn term(&self) -> &Term {
        &self.0
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.0.0.steps.end();
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Step").field(&self.0).finish()
    }
}
