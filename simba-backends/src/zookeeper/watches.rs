//! What is watched by one client, for as long as that has a connection.
//!
//! # Which watches
//! Each lease and each group has a persistent watch on its node, whether the node exists or not; many leases share one
//! persistent recursive watch on their parent instead. The usual watch, which goes with the first event, would take a
//! call after each event, two for each term of a contended lease, and for a group that comes and goes two kinds of
//! watches in turn. All leases by the recursive watch alone would be simpler still; but then every process that waits
//! for one lease would be told of each term of every other.
//!
//! # What is lost
//! A persistent watch misses what happens while there is no connection (ZOOKEEPER-4698), and ZooKeeper's client does not
//! set it again at the next server. So a lost connection ends everything here; all is watched anew by whatever client
//! has a connection next, and then a gap is told.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{
    FutureExt, StreamExt,
    future::{AbortHandle, Abortable, BoxFuture, join, join_all},
    stream::FuturesUnordered,
};
use tokio::time::sleep;
use uuid::Uuid;
use zookeeper_client::{AddWatchMode, Client, Error, PersistentWatcher, SessionState};

use super::{
    Shared, error,
    link::Link,
    sight::Look,
    subject::{Change, Subject},
    topics::{Step, Topics},
};
use crate::{BackendError, ErrorKind, clock::since_boot};

/// How often what lingers is looked through.
const TICK: Duration = Duration::from_millis(250);

/// How long a client is kept without anything to watch.
const IDLE: u32 = 20;

/// Why nothing is watched any more.
#[derive(Debug)]
pub(super) enum End {
    /// There is nothing to watch.
    Idle,
    NotConnected(BackendError),
    /// The ensemble does not do it, or not for us.
    Refused(BackendError),
    /// The connection, or the client, is none any more.
    Lost,
}

pub(super) struct Watches {
    shared: Arc<Shared>,
    link: Link,
    /// Each goes on until its watch is dropped, or the client is.
    watching: FuturesUnordered<Abortable<BoxFuture<'static, Option<End>>>>,
    each: BTreeMap<Subject, Watch>,
    all: Option<Watch>,
}

/// Dropped, it ends.
struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watches {
    pub(super) fn new(shared: &Arc<Shared>, link: Link) -> Self {
        let (watching, each) = (FuturesUnordered::new(), BTreeMap::new());
        Self { shared: Arc::clone(shared), link, watching, each, all: None }
    }

    /// Watches what is wanted until the connection is lost, or nothing is wanted for a while.
    pub(super) async fn serve(mut self) -> End {
        let Some(mut state) = self.link.client(&self.shared).map(|client| client.state_watcher()) else {
            return End::Lost;
        };
        if state.state() != SessionState::SyncConnected {
            return End::Lost;
        }
        let shared = Arc::clone(&self.shared);
        let mut idle = 0;
        loop {
            if let Err(end) = self.act() {
                return end;
            }
            let rest = self.rest();
            tokio::select! {
                biased;
                // Whatever it is now: it was another one in between.
                _ = state.changed() => return End::Lost,
                // Without an end it is a look that was answered, or a watch that was left.
                Some(ended) = self.watching.next() => if let Ok(Some(end)) = ended {
                    return end;
                },
                () = shared.listening.due.notified() => {}
                () = sleep(rest) => {
                    if self.link.client(&self.shared).is_none() {
                        return End::Lost;
                    }
                    idle = if shared.listening.with(|topics| topics.is_wanting()) { 0 } else { idle + 1 };
                    if idle > IDLE {
                        return End::Idle;
                    }
                }
            }
        }
    }

    /// How long there is nothing to do, unless something happens.
    fn rest(&self) -> Duration {
        let told = self.shared.listening.with(|topics| topics.next_told());
        told.map_or(TICK, |at| at.saturating_sub(since_boot()).min(TICK))
    }

    /// Begins all that is to be done.
    fn act(&mut self) -> Result<(), End> {
        loop {
            match self.shared.listening.with(|topics| topics.next_step(since_boot())) {
                Step::Watch(subjects) => {
                    for subject in subjects {
                        let watch =
                            self.begin(|shared, client| watch_one(shared, client, subject.clone()))?;
                        self.each.insert(subject, watch);
                    }
                }
                Step::WatchAll => self.all = Some(self.begin(watch_all)?),
                Step::Look(subjects) => {
                    let client = self.client()?;
                    self.push(look_at(Arc::clone(&self.shared), client, subjects));
                }
                Step::Leave(subjects) => {
                    for subject in subjects {
                        self.each.remove(&subject);
                    }
                }
                Step::LeaveEach => self.each.retain(|subject, _| !subject.is_lease()),
                Step::LeaveAll => self.all = None,
                Step::Rest => return Ok(()),
            }
        }
    }

    fn client(&self) -> Result<Client, End> {
        self.link.client(&self.shared).ok_or(End::Lost)
    }

    fn begin<F>(&self, watch: impl FnOnce(Arc<Shared>, Client) -> F) -> Result<Watch, End>
    where
        F: Future<Output = Option<End>> + Send + 'static,
    {
        Ok(Watch(self.push(watch(Arc::clone(&self.shared), self.client()?))))
    }

    /// Lets it go on together with the others.
    fn push(&self, work: impl Future<Output = Option<End>> + Send + 'static) -> AbortHandle {
        // The client panics in who watches when its runtime ends before it does.
        let work = AssertUnwindSafe(work).catch_unwind().map(|done| done.unwrap_or(Some(End::Lost)));
        let (handle, registration) = AbortHandle::new_pair();
        self.watching.push(Abortable::new(work.boxed(), registration));
        handle
    }
}

async fn watch_one(shared: Arc<Shared>, client: Client, subject: Subject) -> Option<End> {
    let path = subject.path(&shared.paths);
    // In this order on one connection: what the look does not see, the watch tells.
    let (watch, look) = (client.watch(&path, AddWatchMode::Persistent), client.check_stat(&path));
    let (watch, look) = join(watch, look).await;
    let (watcher, look) = match watch.and_then(|watcher| Ok((watcher, found(look?)))) {
        Ok(done) => done,
        Err(failure) => return Some(ended(&shared, &path, failure)),
    };
    drop(client);
    shared.listening.with(|topics| topics.looked(&subject, look));
    shared.listening.due.notify_one();
    pass_on(&shared, watcher, |_| Some(subject.clone())).await
}

async fn watch_all(shared: Arc<Shared>, client: Client) -> Option<End> {
    let path = shared.paths.leases();
    let watcher = match client.watch(&path, AddWatchMode::PersistentRecursive).await {
        Ok(watcher) => watcher,
        Err(failure) => return Some(ended(&shared, &path, failure)),
    };
    drop(client);
    shared.listening.with(Topics::watching_all);
    shared.listening.due.notify_one();
    pass_on(&shared, watcher, |path| Subject::lease_at(&shared.paths, path)).await
}

/// Looks at what the recursive watch sees.
async fn look_at(shared: Arc<Shared>, client: Client, subjects: Vec<Subject>) -> Option<End> {
    let paths: Vec<_> = subjects.iter().map(|subject| subject.path(&shared.paths)).collect();
    let looks = join_all(paths.iter().map(|path| client.check_stat(path))).await;
    for ((subject, path), look) in subjects.iter().zip(&paths).zip(looks) {
        match look {
            Ok(stat) => shared.listening.with(|topics| topics.looked(subject, found(stat))),
            Err(failure) => return Some(ended(&shared, path, failure)),
        }
    }
    shared.listening.due.notify_one();
    None
}

fn found<T>(stat: Option<T>) -> Look {
    match stat {
        Some(_) => Look::There,
        None => Look::Missing,
    }
}

/// Passes on what comes in until nothing can any more.
async fn pass_on(
    shared: &Shared,
    mut watcher: PersistentWatcher,
    subject: impl Fn(&str) -> Option<Subject>,
) -> Option<End> {
    loop {
        let event = watcher.changed().await;
        if event.session_state.is_terminated() {
            return Some(End::Lost);
        }
        if let Some(change) = Change::of(event.event_type)
            && let Some(subject) = subject(&event.path)
        {
            let lot = Uuid::new_v4().as_fields().0;
            let is_put_off = shared.listening.with(|topics| {
                topics.changed(&subject, change, since_boot(), lot);
                topics.next_told().is_some()
            });
            if is_put_off {
                shared.listening.due.notify_one();
            }
        }
    }
}

/// What a call that failed means for all.
fn ended(shared: &Shared, path: &str, failure: Error) -> End {
    let error = error::of(&shared.place, path, failure);
    if matches!(error.kind(), ErrorKind::Unauthorized | ErrorKind::Unsupported | ErrorKind::Config) {
        End::Refused(error)
    } else {
        End::Lost
    }
}
