//! What a backend's author describes once: a storage that the suite can connect to.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use simba_backends::{LeaseBackend, LeaseName, SessionId};

use crate::{Census, Contest, Fault, Lack, Misuse, Outage, Power, Rival, Skew};

/// Which time a storage's leases run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// tokio's, paused: waiting takes no time. For a storage that lives in the process.
    Virtual,
    /// The machine's, on a runtime of several threads. For everything else.
    Real,
}

/// A storage to be certified.
///
/// A fixture that has a [`Power`] overrides that method; for all others [`lacks`](Self::lacks) says why
/// not. Each test makes a fixture of its own.
#[async_trait]
pub trait Fixture: Send + Sync + 'static {
    /// Which time the leases run in.
    fn clock() -> Clock
    where
        Self: Sized;

    /// Prepares an empty storage that nobody else uses.
    async fn fresh() -> Self
    where
        Self: Sized;

    /// A new client of the storage, as another process would have it.
    async fn connect(&self) -> Arc<dyn LeaseBackend>;

    /// A lease as short as the storage can keep reliably; with a real clock 1 to 2 seconds.
    fn lease(&self) -> Duration;

    /// Why this fixture lacks a power; asked for those only that are not overridden.
    fn lacks(&self, power: Power) -> &'static str;

    /// Longer than any single call may take, also without a storage.
    fn patience(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Lets time pass for the storage.
    async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Ends the storage as a crash would and starts it again, with what it had made durable.
    async fn restart(&self) -> Result<(), Lack> {
        Err(Lack::new(Power::Restart, self.lacks(Power::Restart)))
    }

    /// Makes every write to a session's record wait.
    async fn hold_session(&self, session: &SessionId) -> Result<Fault, Lack> {
        let _ = session; // the default looks at nothing
        Err(Lack::new(Power::HoldSession, self.lacks(Power::HoldSession)))
    }

    /// Makes every write to that name, and to no other, wait.
    async fn hold_lease(&self, name: &LeaseName) -> Result<Fault, Lack> {
        let _ = name; // the default looks at nothing
        Err(Lack::new(Power::HoldLease, self.lacks(Power::HoldLease)))
    }

    /// Overwrites the record of that name with what Simba cannot have written.
    async fn corrupt(&self, name: &LeaseName) -> Result<(), Lack> {
        let _ = name; // the default looks at nothing
        Err(Lack::new(Power::Corrupt, self.lacks(Power::Corrupt)))
    }

    /// Removes a session's own record alone, as a close that failed half-way leaves it.
    async fn half_close(&self, session: &SessionId) -> Result<(), Lack> {
        let _ = session; // the default looks at nothing
        Err(Lack::new(Power::HalfClose, self.lacks(Power::HalfClose)))
    }

    /// Takes the storage out of service, for the clients that are there and for new ones.
    async fn outage(&self, outage: Outage) -> Result<Fault, Lack> {
        let _ = outage; // the default looks at nothing
        Err(Lack::new(Power::Outage, self.lacks(Power::Outage)))
    }

    /// Makes every subscription miss hints: a cut connection, an overrun buffer.
    async fn lose_hints(&self) -> Result<(), Lack> {
        Err(Lack::new(Power::LoseHints, self.lacks(Power::LoseHints)))
    }

    /// How long after one purge the next may run; a few seconds on a real clock, so that it can be
    /// waited for.
    fn purge_interval(&self) -> Result<Duration, Lack> {
        Err(Lack::new(Power::Purge, self.lacks(Power::Purge)))
    }

    /// Counts what the storage keeps.
    async fn census(&self) -> Result<Census, Lack> {
        Err(Lack::new(Power::Census, self.lacks(Power::Census)))
    }

    /// How many calls have reached the storage so far.
    async fn calls(&self) -> Result<u64, Lack> {
        Err(Lack::new(Power::CountCalls, self.lacks(Power::CountCalls)))
    }

    /// A new client whose wall clock is off.
    async fn connect_skewed(&self, skew: Skew) -> Result<Arc<dyn LeaseBackend>, Lack> {
        let _ = skew; // the default looks at nothing
        Err(Lack::new(Power::SkewedClock, self.lacks(Power::SkewedClock)))
    }

    /// Uses the storage wrongly in every way it knows, and tells what came of each.
    async fn misuses(&self) -> Result<Vec<Misuse>, Lack> {
        Err(Lack::new(Power::Misuse, self.lacks(Power::Misuse)))
    }

    /// Starts a process that contends for these names; it is under way when this returns.
    async fn rival(&self, names: &[LeaseName], contest: Contest) -> Result<Box<dyn Rival>, Lack> {
        let _ = (names, contest); // the default looks at nothing
        Err(Lack::new(Power::Rival, self.lacks(Power::Rival)))
    }
}
