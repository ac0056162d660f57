//! The contract of a Simba lease backend as tests: one for every sentence, for every backend, also for
//! one of your own.
//!
//! [`LeaseBackend`](simba_backends::LeaseBackend) states the contract in numbered sentences. Each is a
//! public function in [`contract`] here. You describe your storage once, as a [`Fixture`]; [`certify!`]
//! then makes one `#[test]` of each sentence, so that a test run reads
//! `memory::l6_a_release_frees_and_nothing_else_does ... ok`.
//!
//! # What is never skipped
//!
//! Every backend gets the same tests. Where a sentence needs a [`Power`] over the storage that a fixture
//! lacks (restarting it, locking one of its rows), the test runs the rest of the sentence and prints
//! `not declared: ...` with the fixture's reason; a lack without a reason fails. What a backend does not
//! declare in its [`Capabilities`](simba_backends::Capabilities) is held against it: who declares no
//! hints must hand out none, who declares durable tokens must let the fixture restart the storage.
//!
//! # Examples
//!
//! A crate with a backend of its own writes this into `tests/contract.rs`:
//!
//! ```
//! use std::{sync::Arc, time::Duration};
//! use simba_backends::{LeaseBackend, memory::MemoryBackend};
//! use simba_tck::{Clock, Fixture, Power, async_trait};
//!
//! struct Mine(MemoryBackend); // in your crate: what is needed to connect once more
//!
//! #[async_trait]
//! impl Fixture for Mine {
//!     fn clock() -> Clock {
//!         Clock::Virtual
//!     }
//!     async fn fresh() -> Self {
//!         Mine(MemoryBackend::new())
//!     }
//!     async fn connect(&self) -> Arc<dyn LeaseBackend> {
//!         Arc::new(self.0.clone())
//!     }
//!     fn lease(&self) -> Duration {
//!         Duration::from_secs(10)
//!     }
//!     fn lacks(&self, _power: Power) -> &'static str {
//!         "memory lives and dies with its process: there is nothing to break"
//!     }
//! }
//!
//! simba_tck::certify!(mine, Mine);
//!
//! // Without the macro, one sentence at a time:
//! # fn main() {
//! use simba_tck::contract::race::l3_of_racing_sessions_one_is_granted;
//! simba_tck::run::<Mine>(|fixture| Box::pin(l3_of_racing_sessions_one_is_granted(fixture)));
//! # }
//! ```

mod certify;
mod contender;
pub mod contract;
mod fixture;
mod power;

pub use async_trait::async_trait;
pub use certify::{Sentence, run};
pub use fixture::{Clock, Fixture};
pub use power::{Census, Contest, Fault, Lack, Misuse, Outage, Power, Rival, Skew};
