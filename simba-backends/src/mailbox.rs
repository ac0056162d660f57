//! What hint sources have not read yet, where one task listens for all sources of a backend.

use std::{
    collections::{BTreeMap, VecDeque},
    task::{Context, Waker},
};

/// How many pieces of news a source may leave unread before it is told of a gap instead.
const BUFFER: usize = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceId(u64);

/// Whoever is to be woken, once nothing is locked any more. Also those who asked before: to drop a waker may run
/// anything, too.
pub(crate) type Woken = Vec<Waker>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News<T> {
    About(T),
    Gap,
}

/// The sources of a backend, each with what it has not read.
pub(crate) struct Mailboxes<T> {
    sources: BTreeMap<SourceId, Mailbox<T>>,
    last: u64,
    woken: Woken,
}

impl<T> Default for Mailboxes<T> {
    fn default() -> Self {
        Self { sources: BTreeMap::new(), last: 0, woken: Woken::new() }
    }
}

impl<T: Clone + PartialEq> Mailboxes<T> {
    pub(crate) fn open(&mut self) -> SourceId {
        self.last += 1;
        let id = SourceId(self.last);
        self.sources.insert(id, Mailbox::default());
        id
    }

    pub(crate) fn close(&mut self, id: SourceId) {
        if let Some(mailbox) = self.sources.remove(&id) {
            mailbox.close(&mut self.woken);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    pub(crate) fn put(&mut self, id: SourceId, about: &T) {
        if let Some(mailbox) = self.sources.get_mut(&id) {
            mailbox.put(about, &mut self.woken);
        }
    }

    /// Tells every source that something may have been missed.
    pub(crate) fn put_gap(&mut self) {
        self.sources.values_mut().for_each(|mailbox| mailbox.put_gap(&mut self.woken));
    }

    pub(crate) fn forget(&mut self, id: SourceId, about: &T) {
        if let Some(mailbox) = self.sources.get_mut(&id) {
            mailbox.forget(about);
        }
    }

    /// The next piece of news for a source; without one, who asks is woken by it.
    pub(crate) fn take(&mut self, id: SourceId, cx: &Context<'_>) -> Option<News<T>> {
        self.sources.get_mut(&id)?.take(cx, &mut self.woken)
    }

    pub(crate) fn take_woken(&mut self) -> Woken {
        std::mem::take(&mut self.woken)
    }
}

/// Never holds anything twice: who looks at it once has seen both changes.
struct Mailbox<T> {
    unread: VecDeque<T>,
    gap: Gap,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gap {
    #[default]
    None,
    Unread,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self { unread: VecDeque::new(), gap: Gap::None, waker: None }
    }
}

impl<T: Clone + PartialEq> Mailbox<T> {
    fn put(&mut self, about: &T, woken: &mut Woken) {
        // Whoever reads the gap later looks at this, too.
        if self.gap == Gap::Unread || self.unread.contains(about) {
            return;
        }
        if self.unread.len() >= BUFFER {
            return self.put_gap(woken);
        }
        self.unread.push_back(about.clone());
        woken.extend(self.waker.take());
    }

    fn put_gap(&mut self, woken: &mut Woken) {
        self.unread.clear();
        self.gap = Gap::Unread;
        woken.extend(self.waker.take());
    }

    fn forget(&mut self, about: &T) {
        self.unread.retain(|unread| unread != about);
    }

    fn take(&mut self, cx: &Context<'_>, woken: &mut Woken) -> Option<News<T>> {
        if std::mem::take(&mut self.gap) == Gap::Unread {
            return Some(News::Gap);
        }
        let about = self.unread.pop_front();
        let is_known = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if about.is_none() && !is_known {
            woken.extend(self.waker.replace(cx.waker().clone()));
        }
        about.map(News::About)
    }

    fn close(self, woken: &mut Woken) {
        woken.extend(self.waker);
    }
}
