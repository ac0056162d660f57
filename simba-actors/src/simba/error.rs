//! Why Simba could not be opened, or not be closed in full.

use std::{io, sync::Arc, time::Duration};

use simba_backends::{BackendError, LeaseName};

use crate::ConfigError;

/// Says why there is no Simba.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The settings cannot work; the message says which and what to do.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No storage was given: call `url` or `backend` of the builder.
    #[error("no storage was given: call url() or backend() on the builder")]
    NoStorage,
    /// The URL is none, or the storage refused.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The operating system gave no thread.
    #[error("simba's thread could not be started: {0}")]
    Thread(Arc<io::Error>),
    /// Simba's thread ended before there was a session.
    #[error("simba's thread ended while connecting")]
    Interrupted,
}

/// Says what the storage did not confirm as free when Simba was closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("closed, but {} leases are not confirmed as free: {}{}", .unfreed.len(), some(.unfreed), when(.free_in))]
pub struct CloseError {
    pub(super) unfreed: Vec<LeaseName>,
    pub(super) free_in: Option<Duration>,
}

impl CloseError {
    /// The leases that may still be held.
    pub fn unfreed(&self) -> &[LeaseName] {
        &self.unfreed
    }

    /// After how long they are free in any case, because their session runs out.
    pub fn free_in(&self) -> Option<Duration> {
        self.free_in
    }
}

/// The first few; there may be ten thousand.
fn some(names: &[LeaseName]) -> String {
    let first: Vec<_> = names.iter().take(3).map(LeaseName::as_str).collect();
    let more = if names.len() > 3 { ", ..." } else { "" };
    format!("{}{more}", first.join(", "))
}

fn when(free_in: &Option<Duration>) -> String {
    free_in.map_or_else(String::new, |free_in| format!("; they are within {free_in:?}"))
}
