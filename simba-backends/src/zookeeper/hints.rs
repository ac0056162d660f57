//! One session's subscription to what is freed, and to who joins and leaves.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;

use super::{Shared, listen, subject::Subject};
use crate::{GroupName, Hint, HintSource, LeaseName, mailbox::SourceId};

pub(super) struct ZooKeeperHints {
    shared: Arc<Shared>,
    id: SourceId,
}

impl ZooKeeperHints {
    /// A source that wants nothing yet; only a poll is certain to happen on a runtime.
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), id: shared.listening.add_source() }
    }
}

impl HintSource for ZooKeeperHints {
    fn want(&mut self, name: &LeaseName) {
        self.shared.listening.want(self.id, &Subject::Lease(name.clone()));
    }

    fn unwant(&mut self, name: &LeaseName) {
        self.shared.listening.unwant(self.id, &Subject::Lease(name.clone()));
    }

    fn want_members(&mut self, group: &GroupName) {
        self.shared.listening.want(self.id, &Subject::Group(group.clone()));
    }

    fn unwant_members(&mut self, group: &GroupName) {
        self.shared.listening.unwant(self.id, &Subject::Group(group.clone()));
    }
}

impl Stream for ZooKeeperHints {
    type Item = Hint;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        let hint = self.shared.listening.next_hint(self.id, cx);
        // After the waker is known: who listens now wakes it when it ends.
        listen::start(&self.shared);
        hint.map_or(Poll::Pending, |hint| Poll::Ready(Some(hint)))
    }
}

impl Drop for ZooKeeperHints {
    fn drop(&mut self) {
        self.shared.listening.remove_source(self.id);
    }
}
