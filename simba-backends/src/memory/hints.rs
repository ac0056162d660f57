//! Hints of the memory storage: every change is broadcast, each subscriber keeps what it wants.

use std::{
    collections::{BTreeSet, VecDeque},
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use tokio_stream::wrappers::{BroadcastStream, errors::BroadcastStreamRecvError};

use super::MemoryBackend;
use crate::{Hint, HintSource, LeaseName};

pub(super) struct MemoryHints {
    backend: MemoryBackend,
    wanted: BTreeSet<LeaseName>,
    /// Names that were free already when they were asked for.
    ready: VecDeque<Hint>,
    published: BroadcastStream<Hint>,
}

impl MemoryHints {
    pub(super) fn new(backend: MemoryBackend) -> Self {
        let published = BroadcastStream::new(backend.shared.released.subscribe());
        Self { backend, wanted: BTreeSet::new(), ready: VecDeque::new(), published }
    }

    fn is_wanted(&self, hint: &Hint) -> bool {
        match hint {
            Hint::Released { name, .. } => self.wanted.contains(name),
            Hint::Members(_) | Hint::Gap => true,
        }
    }
}

impl HintSource for MemoryHints {
    fn want(&mut self, name: &LeaseName) {
        let is_new = self.wanted.insert(name.clone());
        let free = self.backend.step(|store, now| {
            if is_new {
                store.wait_for(name);
            }
            store.is_free(now, name).then(|| store.released(name))
        });
        self.ready.extend(free);
    }

    fn unwant(&mut self, name: &LeaseName) {
        if self.wanted.remove(name) {
            self.backend.step(|store, _| store.wait_no_more_for(name));
        }
    }
}

impl Drop for MemoryHints {
    fn drop(&mut self) {
        let wanted = std::mem::take(&mut self.wanted);
        self.backend.step(|store, _| wanted.iter().for_each(|name| store.wait_no_more_for(name)));
    }
}

impl Stream for MemoryHints {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        if let Some(hint) = self.ready.pop_front() {
            return Poll::Ready(Some(hint));
        }
        loop {
            match ready!(Pin::new(&mut self.published).poll_next(cx)) {
                Some(Ok(hint)) if !self.is_wanted(&hint) => {}
                Some(Ok(hint)) => return Poll::Ready(Some(hint)),
                Some(Err(BroadcastStreamRecvError::Lagged(_))) => return Poll::Ready(Some(Hint::Gap)),
                None => return Poll::Ready(None),
            }
        }
    }
}
