//! Who listens, for all hint sources of a backend: one task, with one connection while there is something to hear.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Context,
    time::Duration,
};

use redis::RedisError;
use tokio::{
    sync::{Notify, mpsc},
    time::sleep,
};
use tracing::{debug, warn};

use super::{
    Shared,
    subscriber::{End, Subscriber},
    topics::{Errand, Stage, Topics},
};
use crate::{Hint, LeaseName, clock::since_boot, mailbox::SourceId, trouble::Trouble};

#[derive(Default)]
pub(super) struct Listening {
    topics: Mutex<Topics>,
    /// Whether the task runs. It may end with its runtime; the next source that is polled starts it again.
    listens: AtomicBool,
    /// That a source is gone.
    pub(super) left: Notify,
    /// That a name is to be subscribed to, looked at, counted.
    pub(super) to_subscribe: Notify,
    pub(super) to_look: Notify,
    pub(super) to_count: Notify,
}

impl Listening {
    pub(super) fn add_source(&self) -> SourceId {
        self.with(Topics::add_source)
    }

    pub(super) fn remove_source(&self, id: SourceId) {
        self.with(|topics| topics.remove_source(id, since_boot()));
        self.left.notify_one();
    }

    pub(super) fn want(&self, id: SourceId, name: &LeaseName) {
        match self.with(|topics| topics.want(id, name)) {
            Errand::Subscribe => self.to_subscribe.notify_one(),
            Errand::Look => self.to_look.notify_one(),
            Errand::Nothing => {}
        }
    }

    pub(super) fn unwant(&self, id: SourceId, name: &LeaseName) {
        self.with(|topics| topics.unwant(id, name, since_boot()));
    }

    pub(super) fn next_hint(&self, id: SourceId, cx: &Context<'_>) -> Option<Hint> {
        self.with(|topics| topics.next_hint(id, cx))
    }

    /// Looks at or changes what is kept, then wakes whom that concerns.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Topics) -> T) -> T {
        let (done, woken) = {
            let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
            (act(&mut topics), topics.take_woken())
        };
        woken.into_iter().for_each(std::task::Waker::wake);
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
            self.to_subscribe.notified().await;
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
        listening.listens.store(false, Ordering::Release);
        listening.with(|topics| {
            topics.lost();
            topics.tell_all();
        });
    }
}

/// Listens for ever, on one connection after the other.
async fn listen(shared: &Arc<Shared>) {
    let mut trouble = Trouble::default();
    loop {
        shared.listening.wanted().await;
        let (sender, pushes) = mpsc::unbounded_channel();
        let end = match shared.server.subscriber(sender, shared.call_timeout).await {
            Ok(connection) => Subscriber::new(shared, connection).serve(pushes).await,
            Err(error) => End::NotConnected(error),
        };
        if shared.listening.with(Topics::lost) == Stage::Live {
            trouble = Trouble::default();
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
        End::Lost(error) => debug!(%error, "hints interrupted"),
    }
    trouble.failed()
}

fn tell_operator(shared: &Shared, error: &RedisError) {
    let (server, prefix) = (shared.server.place(), shared.keys.prefix());
    let needed = format!("ACL SETUSER <user> +subscribe +unsubscribe +pubsub &{prefix}*");
    warn!(server, needed, %error, "may not subscribe to releases; candidates look again at their regular times");
}
