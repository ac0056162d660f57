//! Telling every process what this one freed.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{task::JoinHandle, time::timeout};
use tracing::debug;

use super::PostgresBackend;
use crate::{BackendError, LeaseName, sql::Literal};

/// The channel that all processes of a database listen to.
pub(super) const CHANNEL: &str = "simba";

/// How many bytes a payload has at most; PostgreSQL's own limit is 8000.
const PAYLOAD: usize = 7900;

/// How many names wait to be told at most. More are forgotten: hints may be lost.
const MOST_PENDING: usize = 20_000;

/// How long a close waits until what it freed is told.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long telling waits for a lock, in milliseconds.
const WAIT: u128 = 1000;

/// In messages of their own, after the commit of what freed the names: transactions that tell something commit
/// one after the other in the whole database. Those names go together that came up while one was under way.
#[derive(Default)]
pub(super) struct Freed(Mutex<Pending>);

#[derive(Default)]
struct Pending {
    names: BTreeSet<LeaseName>,
    task: Option<JoinHandle<()>>,
}

impl Freed {
    /// Begins to tell of names in the background: what freed them is done.
    pub(super) fn tell(&self, backend: &PostgresBackend, names: impl Iterator<Item = LeaseName>) {
        let mut pending = self.lock();
        let room = MOST_PENDING.saturating_sub(pending.names.len());
        pending.names.extend(names.take(room));
        let is_told = pending.task.as_ref().is_some_and(|task| !task.is_finished());
        if !pending.names.is_empty() && !is_told {
            pending.task = Some(tokio::spawn(run(backend.clone())));
        }
    }

    /// Waits until it is told, but not for long. After a close the process may end, and the task with it.
    pub(super) async fn told(&self) {
        let task = self.lock().task.take();
        if let Some(task) = task {
            // A hint may be lost.
            let _ = timeout(PATIENCE, task).await;
        }
    }

    /// What there is to tell; where there is nothing, the task has ended.
    fn next(&self) -> BTreeSet<LeaseName> {
        let mut pending = self.lock();
        if pending.names.is_empty() {
            pending.task = None;
        }
        std::mem::take(&mut pending.names)
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(backend: PostgresBackend) {
    loop {
        let names = backend.shared.freed.next();
        if names.is_empty() {
            return;
        }
        if let Err(error) = send(&backend, &names).await {
            debug!(%error, "freed names not told");
        }
    }
}

/// A hint is not worth waiting for the disk.
async fn send(backend: &PostgresBackend, names: &BTreeSet<LeaseName>) -> Result<(), BackendError> {
    let notices: Vec<String> =
        payloads(names).iter().map(|text| format!("select pg_notify('{CHANNEL}', '{text}')")).collect();
    let statements = format!("set local synchronous_commit = off; {}", notices.join("; "));
    backend.server().call(backend.transaction(WAIT, &statements)).await.map(|_| ())
}

/// Names with blanks between them.
fn payloads(names: &BTreeSet<LeaseName>) -> Vec<String> {
    let mut payloads = vec![String::new()];
    for name in names {
        let payload = payloads.last_mut().expect("there is always one");
        if payload.is_empty() {
            payload.push_str(name.text());
        } else if payload.len() + 1 + name.text().len() <= PAYLOAD {
            payload.push(' ');
            payload.push_str(name.text());
        } else {
            payloads.push(name.text().to_owned());
        }
    }
    payloads
}

/// The names of a payload; what is no name was not told by Simba.
pub(super) fn names(payload: &str) -> Vec<LeaseName> {
    payload.split(' ').filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_names_travel_in_payloads_that_fit() {
        let all: BTreeSet<LeaseName> =
            (0..500).map(|number| format!("{number:0128}").parse().unwrap()).collect();
        let payloads = payloads(&all);
        assert!(payloads.iter().all(|payload| payload.len() <= PAYLOAD));
        assert!(payloads.len() < 10, "{} payloads", payloads.len());
        let told: BTreeSet<_> = payloads.iter().flat_map(|payload| names(payload)).collect();
        assert_eq!(told, all);
        assert_eq!(names("job not/a/name"), ["job".parse().unwrap()]);
    }
}
