//! Hints: looking at the file for changes while somebody waits for a name.
//!
//! `pragma data_version` of a connection that never writes changes with every commit of any other
//! connection, of this process or another. Then, and only then, one read tells which wanted names are
//! free. What this process frees itself is looked at at once. An expiry changes nothing in the file and is
//! not hinted: `free_in` told of it. Nor are changes of a group's members, which nobody can ask for yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use futures_core::Stream;
use tokio::sync::{Notify, broadcast, mpsc};

use super::{SqliteBackend, watch::Watch};
use crate::{Hint, HintSource, LeaseName};

/// How far a source may lag behind before its task waits for it, or looks at everything.
const BUFFER: usize = 1024;

/// What this process freed.
#[derive(Clone)]
pub(super) enum FreedNames {
    These(Arc<[LeaseName]>),
    /// Nobody knows which: a session was closed, dead ones were purged.
    Any,
}

/// Tells the sources of this process what it freed.
pub(super) struct Freed(broadcast::Sender<FreedNames>);

impl Default for Freed {
    fn default() -> Self {
        Self(broadcast::channel(BUFFER).0)
    }
}

impl Freed {
    pub(super) fn tell(&self, names: Arc<[LeaseName]>) {
        // An error only says that nobody subscribes.
        let _ = self.0.send(FreedNames::These(names));
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<FreedNames> {
        self.0.subscribe()
    }

    pub(super) fn tell_all(&self) {
        // An error only says that nobody subscribes.
        let _ = self.0.send(FreedNames::Any);
    }
}

/// One session's subscription.
pub(super) struct SqliteHints {
    wanted: Arc<Wanted>,
    state: State,
}

enum State {
    /// Not polled yet: only a poll is certain to happen on a runtime.
    Idle(SqliteBackend),
    Running(mpsc::Receiver<Hint>),
}

/// The names that a source wants hints about.
#[derive(Default)]
pub(super) struct Wanted {
    names: Mutex<BTreeMap<LeaseName, Hinted>>,
    added: Notify,
}

/// What the last hint about a name was about: one is enough for each term that ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hinted {
    Never,
    /// The token that was stored; none before the first term.
    After(Option<i64>),
}

impl Wanted {
    fn names(&self) -> MutexGuard<'_, BTreeMap<LeaseName, Hinted>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self) -> usize {
        self.names().len()
    }

    pub(super) fn all(&self) -> BTreeSet<LeaseName> {
        self.names().keys().cloned().collect()
    }

    pub(super) fn among(&self, names: &[LeaseName]) -> BTreeSet<LeaseName> {
        let wanted = self.names();
        names.iter().filter(|name| wanted.contains_key(*name)).cloned().collect()
    }

    /// Resolves when a name was asked for since the last time.
    pub(super) async fn added(&self) {
        self.added.notified().await;
    }

    /// Notes that a wanted name is free after that token; whether that is news.
    pub(super) fn is_news(&self, name: &LeaseName, token: Option<i64>) -> bool {
        let now = Hinted::After(token);
        self.names().get_mut(name).is_some_and(|last| std::mem::replace(last, now) != now)
    }
}

impl SqliteHints {
    pub(super) fn new(backend: &SqliteBackend) -> Self {
        Self { wanted: Arc::default(), state: State::Idle(backend.clone()) }
    }
}

impl HintSource for SqliteHints {
    fn want(&mut self, name: &LeaseName) {
        self.wanted.names().insert(name.clone(), Hinted::Never);
        self.wanted.added.notify_one();
    }

    fn unwant(&mut self, name: &LeaseName) {
        self.wanted.names().remove(name);
    }
}

impl Stream for SqliteHints {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        if let State::Idle(backend) = &self.state {
            let (hints, received) = mpsc::channel(BUFFER);
            tokio::spawn(Watch::new(backend, &self.wanted, hints).run());
            self.state = State::Running(received);
        }
        match &mut self.state {
            State::Idle(_) => Poll::Ready(None),
            State::Running(received) => received.poll_recv(cx),
        }
    }
}
