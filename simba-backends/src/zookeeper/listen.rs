//! Who listens, for all hint sources of a backend: one task, with one client while there is something to hear.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use tokio::{sync::Notify, time::sleep};
use tracing::{debug, warn};

use super::{
    Shared,
    link::Link,
    subject::Subject,
    topics::{Progress, Topics},
    watches::{End, Watches},
};
use crate::{BackendError, Hint, LeaseName, clock::since_boot, mailbox::SourceId, trouble::Trouble};

#[derive(Default)]
pub(super) struct Listening {
    topics: Mutex<Topics>,
    /// Whether the task runs. It may end with its runtime; the next source that is polled starts it again.
    listens: AtomicBool,
    /// That a source is gone.
    left: Notify,
    /// That there may be something to do.
    pub(super) due: Notify,
}

impl Listening {
    pub(super) fn add_source(&self) -> SourceId {
        self.with(Topics::add_source)
    }

    pub(super) fn remove_source(&self, id: SourceId) {
        self.with(|topics| topics.remove_source(id, since_boot()));
        self.left.notify_one();
    }

    pub(super) fn want(&self, id: SourceId, subject: &Subject) {
        self.with(|topics| topics.want(id, subject));
        self.due.notify_one();
    }

    pub(super) fn unwant(&self, id: SourceId, subject: &Subject) {
        self.with(|topics| topics.unwant(id, subject, since_boot()));
    }

    pub(super) fn next_hint(&self, id: SourceId, cx: &Context<'_>) -> Option<Hint> {
        self.with(|topics| topics.next_hint(id, cx))
    }

    /// Those that others have taken a moment ago, as far as is known: to try them would be in vain.
    pub(super) fn just_taken<'n>(&self, names: &'n [LeaseName]) -> BTreeSet<&'n LeaseName> {
        self.with(|topics| topics.just_taken(names, since_boot()))
    }

    /// A session of this backend has begun or ended a term of these.
    pub(super) fn own_terms<'n>(&self, names: impl Iterator<Item = &'n LeaseName>) {
        self.with(|topics| topics.own_terms(names, since_boot()));
    }

    /// So many sessions there are, of whatever process.
    pub(super) fn counted(&self, sessions: i32) {
        self.with(|topics| topics.counted(u32::try_from(sessions).unwrap_or_default()));
    }

    /// Looks at or changes what is kept, then wakes whom that concerns.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Topics) -> T) -> T {
        let (done, woken) = {
            let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
            (act(&mut topics), topics.take_woken())
        };
        woken.into_iter().for_each(Waker::wake);
        done
    }

    /// Waits until there is no source any more.
    async fn deserted(&self) {
        while self.with(|topics| topics.has_sources()) {
            self.left.notified().await;
        }
    }

    /// Waits until there is something to be connected for.
    async fn wanted(&self) {
        while !self.with(|topics| topics.is_wanting()) {
            self.due.notified().await;
        }
    }
}

/// Begins to listen, unless somebody does already, until the last source is gone.
pub(super) fn start(shared: &Arc<Shared>) {
    if !shared.listening.listens.swap(true, Ordering::AcqRel) {
        let farewell = Farewell(Arc::clone(shared));
        tokio::spawn(async move {
            let farewell = farewell;
            let shared = &farewell.0;
            tokio::select! {
                biased;
                () = shared.listening.deserted() => {}
                () = listen(shared) => {}
            }
        });
    }
}

/// Tells of the end of the task also where its runtime has just dropped it, or never ran it.
struct Farewell(Arc<Shared>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let listening = &self.0.listening;
        // Before the next task can begin; and sources are woken once it can.
        listening.with(|topics| topics.lost());
        listening.listens.store(false, Ordering::Release);
        listening.with(Topics::tell_all);
    }
}

/// Listens for ever, by one client after the other.
async fn listen(shared: &Arc<Shared>) {
    let mut trouble = Trouble::default();
    loop {
        shared.listening.wanted().await;
        let end = match Link::take(shared).await {
            Ok(link) => Watches::new(shared, link).serve().await,
            Err(error) => End::NotConnected(error),
        };
        match shared.listening.with(Topics::lost) {
            Progress::Listened => trouble = Trouble::default(),
            Progress::None => {}
        }
        sleep(pause(shared, &mut trouble, &end)).await;
    }
}

/// Says what is to be said, and how long to wait.
fn pause(shared: &Shared, trouble: &mut Trouble, end: &End) -> Duration {
    match end {
        End::Idle => return Duration::ZERO,
        End::Refused(error) => return trouble.refused(|| tell_operator(shared, error)),
        End::NotConnected(error) => debug!(%error, "hints not connected"),
        End::Lost => debug!("hints interrupted"),
    }
    trouble.failed()
}

fn tell_operator(shared: &Shared, error: &BackendError) {
    let place = &shared.place;
    warn!(
        place,
        %error, "may not watch (persistent watches need ZooKeeper 3.6); candidates look again at their regular times"
    );
}
