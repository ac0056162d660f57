//! The gate in front of Simba's thread: bounds what users have asked for and nobody has looked at yet.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many requests may lie in Simba's mailboxes at once: what it handles in well under a millisecond,
/// so that no flood of calls delays a keep-alive.
const CAPACITY: usize = 256;

/// Lets in so many requests at once; the others wait for their turn, first come, first served.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Semaphore>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(CAPACITY)))
    }

    /// Waits for a place. The permit travels with the request and is dropped by who handles it.
    ///
    /// Cancel safe: who stops waiting loses its place in the queue.
    pub(crate) async fn enter(&self) -> OwnedSemaphorePermit {
        self.0.clone().acquire_owned().await.expect("the gate is never closed")
    }
}
