//! The memory backend keeps the contract, on a paused clock.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

use std::{sync::Arc, time::Duration};

use simba_backends::{LeaseBackend, Metadata, memory::MemoryBackend};
use simba_tck::{Clock, Fixture, Lack, Power, async_trait};

struct Memory(MemoryBackend);

#[async_trait]
impl Fixture for Memory {
    fn clock() -> Clock {
        Clock::Virtual
    }

    async fn fresh() -> Self {
        Self(MemoryBackend::new())
    }

    async fn connect(&self) -> Arc<dyn LeaseBackend> {
        Arc::new(self.0.clone())
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn purge_interval(&self) -> Result<Duration, Lack> {
        Ok(Duration::from_secs(60))
    }

    /// Overruns the buffer of those who do not read.
    async fn lose_hints(&self) -> Result<(), Lack> {
        let session = self.0.open_session(self.lease(), &Metadata::default()).await.unwrap().session;
        let group = "flood".parse().unwrap();
        for _ in 0..1000 {
            self.0.join(&session, &group).await.unwrap();
            self.0.leave(&session, &group).await.unwrap();
        }
        Ok(())
    }

    fn lacks(&self, power: Power) -> &'static str {
        match power {
            Power::Restart => "memory ends with its process",
            Power::HoldSession | Power::HoldLease => "its one lock is never held across a call",
            Power::Corrupt | Power::HalfClose => "nobody but the backend can write to it",
            Power::Outage | Power::CountCalls => "there is no wire between it and its clients",
            Power::Census => "nobody but the backend can look into it",
            Power::SkewedClock => "it reads no wall clock",
            Power::Misuse => "it has no credentials, no tables and no foreign data",
            Power::Rival => "no other process can reach it",
            Power::LoseHints | Power::Purge => panic!("memory has {power:?}"),
        }
    }
}

simba_tck::certify!(memory, Memory);
