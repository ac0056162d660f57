//! How a Simba is opened.

use std::{fmt, sync::Arc};

use simba_backends::LeaseBackend;

use super::{ConnectError, Handles, Inner, Simba, thread};
use crate::{SimbaConfig, clock::Clock, event::EventBus, gate::Gate};

/// Collects what a [`Simba`] is made of.
///
/// # Examples
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use simba_actors::{Simba, SimbaConfig, backends::memory::MemoryBackend};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let simba = Simba::builder()
///     .backend(Arc::new(MemoryBackend::new()))
///     .config(SimbaConfig::builder().lease(Duration::from_secs(6)).build()?)
///     .connect()
///     .await?;
/// # Ok(()) }
/// ```
#[must_use = "a builder does nothing until `connect` is called"]
pub struct SimbaBuilder {
    storage: Option<Storage>,
    config: SimbaConfig,
    place: Place,
    seed: Option<u64>,
}

/// Where the leases are kept.
pub(super) enum Storage {
    Url(String),
    Backend(Arc<dyn LeaseBackend>),
}

/// Where the keeper and the actors run.
#[derive(Clone, Copy)]
enum Place {
    OwnThread,
    Here,
}

impl SimbaBuilder {
    pub(super) fn new() -> Self {
        Self { storage: None, config: SimbaConfig::default(), place: Place::OwnThread, seed: None }
    }

    /// Keeps the leases in the storage that a URL names.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.storage = Some(Storage::Url(url.into()));
        self
    }

    /// Keeps the leases in a storage that was built otherwise.
    pub fn backend(mut self, backend: Arc<dyn LeaseBackend>) -> Self {
        self.storage = Some(Storage::Backend(backend));
        self
    }

    /// Uses other settings than the defaults.
    pub fn config(mut self, config: SimbaConfig) -> Self {
        self.config = config;
        self
    }

    /// Runs on the current actix System with tokio's clock, instead of on a thread of its own.
    ///
    /// For tests: on a paused runtime everything that Simba does is driven by virtual time, and a
    /// thousand leases pass in a moment. In production a handler that blocks would cost the session.
    pub fn on_this_thread(mut self) -> Self {
        self.place = Place::Here;
        self
    }

    /// Seeds the random part of every delay; by default with randomness of the operating system, on this
    /// thread with a constant. Two processes that contend must not share a seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Opens the session.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says what is wrong with the settings, the URL or the storage, at once.
    ///
    /// # Panics
    ///
    /// After [`on_this_thread`](Self::on_this_thread), outside of an actix System.
    ///
    /// # Cancel safety
    ///
    /// A session that was opened for a dropped call is closed again.
    pub async fn connect(self) -> Result<Simba, ConnectError> {
        let Self { storage, config, place, seed } = self;
        let storage = storage.ok_or(ConnectError::NoStorage)?;
        let events = EventBus::new();
        let plan = |clock, seed| thread::Plan {
            storage,
            config: config.clone(),
            events: events.clone(),
            clock,
            seed,
        };
        let ready = match place {
            Place::OwnThread => thread::spawn(plan(Clock::Boot, seed.unwrap_or_else(entropy)))?,
            Place::Here => thread::spawn_here(plan(Clock::tokio(), seed.unwrap_or(SEED_OF_TESTS))),
        };
        let handles: Handles = ready.await.map_err(|_gone| ConnectError::Interrupted)??;
        Ok(Simba {
            inner: Arc::new(Inner { handles, gate: Gate::new(), gallery: Gate::new(), events, config }),
        })
    }
}

/// The same draws in each run: a test that failed fails again.
const SEED_OF_TESTS: u64 = 1;

/// Two processes must not draw the same delays.
#[expect(clippy::disallowed_methods, reason = "the one place that randomness comes from")]
fn entropy() -> u64 {
    rand::random()
}

impl fmt::Debug for SimbaBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URL may hold a password.
        f.debug_struct("SimbaBuilder").field("config", &self.config).finish_non_exhaustive()
    }
}
