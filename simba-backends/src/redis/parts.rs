//! Which keys travel in one call: on a cluster those of one hash slot, and nowhere so many that their script holds
//! up the server.

use std::{collections::BTreeMap, future::Future};

use futures_util::{StreamExt, stream::FuturesUnordered};

use super::{key, server::Server};

/// Some 5 ms of the server's time.
pub(super) const MOST: usize = 1000;

/// Things whose keys travel together.
pub(super) struct Part<T> {
    pub(super) keys: Vec<String>,
    pub(super) items: Vec<T>,
}

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self { keys: Vec::new(), items: Vec::new() }
    }
}

/// Sorts things by where their keys are.
pub(super) fn parts<T>(
    server: &Server,
    items: impl IntoIterator<Item = T>,
    key_of: impl Fn(&T) -> String,
) -> Vec<Part<T>> {
    let mut open: BTreeMap<u16, Part<T>> = BTreeMap::new();
    let mut full = Vec::new();
    for item in items {
        let key = key_of(&item);
        let slot = match server {
            Server::One(_) => 0,
            Server::Cluster(_) => key::slot(&key),
        };
        let part = open.entry(slot).or_default();
        part.keys.push(key);
        part.items.push(item);
        if part.items.len() == MOST {
            full.push(std::mem::take(part));
        }
    }
    full.extend(open.into_values().filter(|part| !part.items.is_empty()));
    full
}

/// Runs the calls of all parts at once: those to a server that does not answer hold up no others. Each waits its turn
/// on its server's connection.
pub(super) async fn all<F: Future>(calls: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    calls.into_iter().collect::<FuturesUnordered<_>>().collect().await
}
