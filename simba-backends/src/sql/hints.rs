//! Hints of a storage that has to be looked at: which names are wanted, and what was told about them.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use tokio::sync::{Notify, broadcast, mpsc};

use crate::{Hint, HintSource, LeaseName};

/// How far a source may lag behind.
const BUFFER: usize = 1024;

/// How many names make the pace half as fast, so that a look at many costs no more per second.
const NAMES_PER_PACE: usize = 1000;

/// The slowest pace, whatever the number of names: a hint is due within a second.
const SLOWEST: Duration = Duration::from_millis(400);

/// How long to wait between two looks at so many names.
pub(crate) fn paced(pace: Duration, count: usize) -> Duration {
    let slower = pace.saturating_mul(u32::try_from(1 + count / NAMES_PER_PACE).unwrap_or(u32::MAX));
    slower.min(SLOWEST.max(pace))
}

/// What this process freed.
#[derive(Clone)]
pub(crate) enum FreedNames {
    These(Arc<[LeaseName]>),
    /// Nobody knows which: a session was closed, dead ones were purged.
    Any,
}

/// Tells the sources of this process what it freed, sooner than they would notice.
pub(crate) struct Freed(broadcast::Sender<FreedNames>);

impl Default for Freed {
    fn default() -> Self {
        Self(broadcast::channel(BUFFER).0)
    }
}

impl Freed {
    pub(crate) fn tell(&self, names: Arc<[LeaseName]>) {
        // An error only says that nobody subscribes.
        let _ = self.0.send(FreedNames::These(names));
    }

    pub(crate) fn tell_all(&self) {
        // An error only says that nobody subscribes.
        let _ = self.0.send(FreedNames::Any);
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<FreedNames> {
        self.0.subscribe()
    }
}

/// The names that a source wants hints about.
pub(crate) struct Wanted {
    names: Mutex<BTreeMap<LeaseName, Hinted>>,
    /// That a name was added, or the source dropped.
    changed: Arc<Notify>,
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

    pub(crate) fn count(&self) -> usize {
        self.names().len()
    }

    pub(crate) fn all(&self) -> BTreeSet<LeaseName> {
        self.names().keys().cloned().collect()
    }

    pub(crate) fn among(&self, names: &[LeaseName]) -> BTreeSet<LeaseName> {
        let wanted = self.names();
        names.iter().filter(|name| wanted.contains_key(*name)).cloned().collect()
    }

    /// Notes that a wanted name is free after that token; whether that is news.
    pub(crate) fn is_news(&self, name: &LeaseName, token: Option<i64>) -> bool {
        let now = Hinted::After(token);
        self.names().get_mut(name).is_some_and(|last| std::mem::replace(last, now) != now)
    }
}

/// Who looks for a source.
pub(crate) trait Watcher: Send + Sync + 'static {
    /// Begins to look at what is wanted, in the background, until the source has gone.
    fn watch(&self, wanted: &Arc<Wanted>, hints: mpsc::Sender<Hint>);
}

/// One session's subscription.
pub(crate) struct Hints {
    wanted: Arc<Wanted>,
    watcher: Box<dyn Watcher>,
    /// None until the first poll: only a poll is certain to happen on a runtime.
    received: Option<mpsc::Receiver<Hint>>,
}

impl Hints {
    /// A source that wants nothing yet; `changed` wakes its watcher.
    pub(crate) fn new(watcher: impl Watcher, changed: Arc<Notify>) -> Self {
        let wanted = Arc::new(Wanted { names: Mutex::default(), changed });
        Self { wanted, watcher: Box::new(watcher), received: None }
    }

    fn begin(&self) -> mpsc::Receiver<Hint> {
        let (hints, received) = mpsc::channel(BUFFER);
        self.watcher.watch(&self.wanted, hints);
        received
    }
}

impl HintSource for Hints {
    fn want(&mut self, name: &LeaseName) {
        self.wanted.names().insert(name.clone(), Hinted::Never);
        self.wanted.changed.notify_one();
    }

    fn unwant(&mut self, name: &LeaseName) {
        self.wanted.names().remove(name);
    }
}

impl Stream for Hints {
    type Item = Hint;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        if self.received.is_none() {
            self.received = Some(self.begin());
        }
        let received = self.received.as_mut().expect("it has just been begun");
        match received.poll_recv(cx) {
            // The runtime on which somebody looked has ended; what was missed since, nobody knows.
            Poll::Ready(None) => {
                self.received = Some(self.begin());
                Poll::Ready(Some(Hint::Gap))
            }
            hint @ (Poll::Ready(Some(_)) | Poll::Pending) => hint,
        }
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        self.received = None;
        self.wanted.changed.notify_one();
    }
}
