//! What one hint source has not read yet.

use std::{
    collections::VecDeque,
    task::{Context, Waker},
};

use crate::LeaseName;

/// How many names a source may leave unread before it is told of a gap instead.
const BUFFER: usize = 1024;

/// Never holds a name twice: who looks at it once has seen both releases.
#[derive(Default)]
pub(super) struct Mailbox {
    unread: VecDeque<LeaseName>,
    gap: Gap,
    waker: Option<Waker>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gap {
    #[default]
    None,
    Unread,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    Released(LeaseName),
    Gap,
}

/// Whoever is to be woken, once nothing is locked any more. Also those who asked before: to drop a waker may run
/// anything, too.
pub(super) type Woken = Vec<Waker>;

impl Mailbox {
    pub(super) fn put(&mut self, name: &LeaseName, woken: &mut Woken) {
        // Whoever reads the gap later looks at this name, too.
        if self.gap == Gap::Unread || self.unread.contains(name) {
            return;
        }
        if self.unread.len() >= BUFFER {
            return self.put_gap(woken);
        }
        self.unread.push_back(name.clone());
        woken.extend(self.waker.take());
    }

    pub(super) fn put_gap(&mut self, woken: &mut Woken) {
        self.unread.clear();
        self.gap = Gap::Unread;
        woken.extend(self.waker.take());
    }

    pub(super) fn forget(&mut self, name: &LeaseName) {
        self.unread.retain(|unread| unread != name);
    }

    /// The next piece of news; without one, who asks is woken by it.
    pub(super) fn take(&mut self, cx: &Context<'_>, woken: &mut Woken) -> Option<News> {
        if std::mem::take(&mut self.gap) == Gap::Unread {
            return Some(News::Gap);
        }
        let name = self.unread.pop_front();
        let is_known = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if name.is_none() && !is_known {
            woken.extend(self.waker.replace(cx.waker().clone()));
        }
        name.map(News::Released)
    }

    /// Ends it.
    pub(super) fn close(self, woken: &mut Woken) {
        woken.extend(self.waker);
    }
}
