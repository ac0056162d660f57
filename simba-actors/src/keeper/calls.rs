//! The calls in flight, as futures.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::{
    FutureExt, StreamExt,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::FuturesUnordered,
};
use simba_backends::{BackendError, LeaseBackend};
use tokio::time::timeout;

use crate::{
    backend::guarded,
    engine::{Answer, Call, CallId},
};

/// Calls the storage. A call that panics answers with an error; one that is abandoned is dropped.
pub(super) struct Calls {
    backend: Arc<dyn LeaseBackend>,
    lease: Duration,
    in_flight: FuturesUnordered<Abortable<BoxFuture<'static, (CallId, Answer)>>>,
    abandon: BTreeMap<CallId, AbortHandle>,
}

impl Calls {
    pub(super) fn new(backend: Arc<dyn LeaseBackend>, lease: Duration) -> Self {
        Self { backend, lease, in_flight: FuturesUnordered::new(), abandon: BTreeMap::new() }
    }

    pub(super) fn send(&mut self, id: CallId, call: Call) {
        let answer = answer(self.backend.clone(), self.lease, call);
        let (handle, registration) = AbortHandle::new_pair();
        let answered = async move { (id, answer.await) }.boxed();
        self.in_flight.push(Abortable::new(answered, registration));
        self.abandon.insert(id, handle);
    }

    pub(super) fn abandon(&mut self, id: CallId) {
        if let Some(handle) = self.abandon.remove(&id) {
            handle.abort();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The next answer. Cancel safe: an answer is lost only with the call itself.
    pub(super) async fn next(&mut self) -> (CallId, Answer) {
        loop {
            match self.in_flight.next().await {
                Some(Ok((id, answer))) => {
                    self.abandon.remove(&id);
                    return (id, answer);
                }
                Some(Err(_abandoned)) => {}
                None => std::future::pending().await,
            }
        }
    }
}

async fn answer(backend: Arc<dyn LeaseBackend>, lease: Duration, call: Call) -> Answer {
    match call {
        Call::Open { metadata } => {
            // The engine never abandons it, because a session that opens late must be closed; but after a
            // lease there is none any more.
            let opened = timeout(lease, guarded(backend.open_session(lease, &metadata))).await;
            Answer::Opened(opened.unwrap_or_else(|_elapsed| Err(BackendError::timeout("no session opened"))))
        }
        Call::KeepAlive { session } => Answer::KeptAlive(guarded(backend.keep_alive(&session, lease)).await),
        Call::Acquire { session, names } => {
            Answer::Acquired(guarded(backend.acquire(&session, &names)).await)
        }
        Call::Release { session, leases } => {
            Answer::Released(guarded(backend.release(&session, &leases)).await)
        }
        Call::Close { session } => Answer::Closed(guarded(backend.close_session(&session)).await),
    }
}
