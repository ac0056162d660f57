//! Hints: looking at the wanted names while somebody waits for one.
//!
//! The server notifies nobody. One plain read tells which wanted names are free; there is one task for all
//! sources of a backend, and it rests while nothing is wanted. What this process frees itself is looked at at
//! once. Changes of a group's members are not hinted.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, broadcast, mpsc, mpsc::error::TrySendError},
    time::{Interval, MissedTickBehavior},
};
use tracing::debug;

use super::{
    Lane, MySqlBackend,
    message::{self, Message, now},
};
use crate::{
    BackendError, Hint, LeaseName,
    sql::{CHUNK, FreedNames, Wanted, Watcher, integer, paced, text},
};

/// How long to wait before the server is asked again after an error.
const PAUSE: Duration = Duration::from_millis(200);

const FREE: &str = concat!(
    "select n.name, l.token
    from json_table(@simba_names, '$[*]' columns (name varchar(128) character set ascii path '$')) n
    left join simba_lease l on l.name = n.name
    left join simba_session s on s.session_id = l.session_id and s.expires_at > ",
    now!(),
    " where s.session_id is null"
);

/// The way to the task that looks for all sources.
#[derive(Default)]
pub(super) struct Watchers {
    /// That a source wants another name, or has gone.
    pub(super) changed: Arc<Notify>,
    /// None where no task runs.
    task: Mutex<Option<mpsc::UnboundedSender<Source>>>,
}

impl Watchers {
    fn task(&self) -> MutexGuard<'_, Option<mpsc::UnboundedSender<Source>>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A subscription.
struct Source {
    wanted: Arc<Wanted>,
    hints: mpsc::Sender<Hint>,
    /// It was told less than there was to tell.
    has_missed: bool,
}

impl Source {
    fn tell(&mut self, hint: Hint) {
        match self.hints.try_send(hint) {
            Err(TrySendError::Full(_)) => self.has_missed = true,
            // One that is closed has gone, which is noticed before the next look.
            Ok(()) | Err(TrySendError::Closed(_)) => {}
        }
    }

    fn tell_what_was_missed(&mut self) {
        if self.has_missed {
            self.has_missed = false;
            self.tell(Hint::Gap);
        }
    }
}

impl Watcher for MySqlBackend {
    fn watch(&self, wanted: &Arc<Wanted>, hints: mpsc::Sender<Hint>) {
        let source = Source { wanted: Arc::clone(wanted), hints, has_missed: false };
        let mut task = self.shared.watchers.task();
        let refused = match &*task {
            Some(running) => running.send(source).err().map(|unsent| unsent.0),
            None => Some(source),
        };
        // One that was ended by the end of its runtime takes no more either.
        if let Some(source) = refused {
            let (sender, arrivals) = mpsc::unbounded_channel();
            *task = Some(sender);
            tokio::spawn(Watch::new(self, source, arrivals).run());
        }
    }
}

/// Why to look.
enum Cause {
    /// It is time, a name was asked for, or this process freed we know not what.
    All,
    /// This process freed these.
    Freed(Arc<[LeaseName]>),
}

struct Watch {
    /// Keeps the sender of `freed` alive, so that it never ends.
    backend: MySqlBackend,
    sources: Vec<Source>,
    arrivals: mpsc::UnboundedReceiver<Source>,
    freed: broadcast::Receiver<FreedNames>,
    pace: Interval,
}

impl Watch {
    fn new(backend: &MySqlBackend, first: Source, arrivals: mpsc::UnboundedReceiver<Source>) -> Self {
        let mut pace = tokio::time::interval(backend.shared.hint_poll);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let freed = backend.shared.freed.subscribe();
        Self { backend: backend.clone(), sources: vec![first], arrivals, freed, pace }
    }

    /// Runs until the last source has gone.
    async fn run(mut self) {
        loop {
            self.sources.retain(|source| !source.hints.is_closed());
            if self.sources.is_empty() && self.ends() {
                return;
            }
            let cause = self.cause().await;
            if let Err(error) = self.look(&cause).await {
                debug!(%error, "hints interrupted");
                self.sources.iter_mut().for_each(|source| source.has_missed = true);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Whether no source is left, so that the next one begins another task.
    fn ends(&mut self) -> bool {
        let mut task = self.backend.shared.watchers.task();
        if let Ok(arrived) = self.arrivals.try_recv() {
            self.sources.push(arrived);
            return false;
        }
        *task = None;
        true
    }

    /// Waits until there is a reason to look. While nothing is wanted, only a wish is a reason.
    async fn cause(&mut self) -> Cause {
        let count: usize = self.sources.iter().map(|source| source.wanted.count()).sum();
        tokio::select! {
            biased;
            () = self.backend.shared.watchers.changed.notified() => Cause::All,
            Some(arrived) = self.arrivals.recv() => {
                self.sources.push(arrived);
                Cause::All
            }
            _ = self.pace.tick(), if count > 0 => {
                self.pace.reset_after(paced(self.backend.shared.hint_poll, count));
                Cause::All
            }
            freed = self.freed.recv(), if count > 0 => match freed {
                Ok(FreedNames::These(names)) => Cause::Freed(names),
                Ok(FreedNames::Any) | Err(_) => Cause::All,
            },
        }
    }

    async fn look(&mut self, cause: &Cause) -> Result<(), BackendError> {
        let wanted = |source: &Source| match cause {
            Cause::All => source.wanted.all(),
            Cause::Freed(names) => source.wanted.among(names),
        };
        let names: BTreeSet<LeaseName> = self.sources.iter().flat_map(wanted).collect();
        let names: Vec<LeaseName> = names.into_iter().collect();
        for chunk in names.chunks(CHUNK) {
            let free = free(&self.backend, chunk).await?;
            for source in &mut self.sources {
                source.tell_what_was_missed();
                for (name, token) in &free {
                    if source.wanted.is_news(name, *token) {
                        source.tell(Hint::Released { name: name.clone(), waiters: None });
                    }
                }
            }
        }
        Ok(())
    }
}

/// Which names nobody holds, with the token that is stored, if any.
async fn free(
    backend: &MySqlBackend,
    names: &[LeaseName],
) -> Result<Vec<(LeaseName, Option<i64>)>, BackendError> {
    let mut message = Message::default();
    message.set("@simba_names", message::json(names));
    let free = message.add(FREE);
    let answer = backend.send(Lane::Calls, message).await?;
    let named = |row| Some((text(row, "name")?.parse().ok()?, integer(row, "token")));
    Ok(answer.rows(free).iter().filter_map(named).collect())
}
