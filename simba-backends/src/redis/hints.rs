//! One session's subscription to what is freed.
//!
//! An expiry is not told: `free_in` told of it. Nor are changes of a group's members.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{Shared, listen};
use crate::{Hint, HintSource, LeaseName, mailbox::SourceId};

pub(super) struct RedisHints {
    shared: Arc<Shared>,
    id: SourceId,
}

impl RedisHints {
    /// A source that wants nothing yet; only a poll is certain to happen on a runtime.
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), id: shared.listening.add_source() }
    }
}

impl HintSource for RedisHints {
    fn want(&mut self, name: &LeaseName) {
        self.shared.listening.want(self.id, name);
    }

    fn unwant(&mut self, name: &LeaseName) {
        self.shared.listening.unwant(self.id, name);
    }
}

impl Stream for RedisHints {
    type Item = Hint;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        let hint = self.shared.listening.next_hint(self.id, cx);
        // After the waker is known: who listens now wakes it when it ends.
        listen::start(&self.shared);
        hint.map_or(Poll::Pending, |hint| Poll::Ready(Some(hint)))
    }
}

impl Drop for RedisHints {
    fn drop(&mut self) {
        self.shared.listening.remove_source(self.id);
    }
}
