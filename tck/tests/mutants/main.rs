//! The suite has power: a backend that breaks a sentence is caught by that sentence.
//!
//! [`Honest`] is a small simulated storage: the memory backend behind a wire that can be broken in every
//! way the suite knows, and it keeps the whole contract. Each [`Lie`] replaces one answer of it.

#![expect(clippy::unwrap_used, reason = "a fixture that fails fails its test")]

mod errors;
mod groups;
mod honest;
mod leases;
mod lie;
mod names;
mod races;
mod sessions;
mod tokens;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use simba_backends::{LeaseBackend, LeaseName, SessionId};
use simba_tck::{
    Clock, Contest, Fault, Fixture, Lack, Misuse, Outage, Power, Rival, Sentence, Skew, async_trait,
};

use honest::{Honest, Stoppable};
use lie::{Liar, Lie};

/// A storage whose clients all tell one lie.
struct Lying<L> {
    liar: Arc<Liar<L>>,
}

/// No lie at all.
#[derive(Debug, Default)]
struct Nothing;
impl Lie for Nothing {}

simba_tck::certify!(honest_storage, Lying<Nothing>);

/// Asserts that the sentence does not hold where this lie is told.
#[track_caller]
fn caught<L: Lie>(sentence: Sentence) {
    let verdict = catch_unwind(AssertUnwindSafe(|| simba_tck::run::<Lying<L>>(sentence)));
    assert!(verdict.is_err(), "{} is told and nobody notices", std::any::type_name::<L>());
}

/// One test for each lie: the sentence that it breaks catches it.
#[macro_export]
macro_rules! lies {
    ($($test:ident: $lie:ty => $part:ident::$sentence:ident;)*) => {
        $(
            #[test]
            fn $test() {
                $crate::caught::<$lie>(|fixture| Box::pin(simba_tck::contract::$part::$sentence(fixture)));
            }
        )*
    };
}

#[async_trait]
impl<L: Lie> Fixture for Lying<L> {
    fn clock() -> Clock {
        Clock::Virtual
    }

    async fn fresh() -> Self {
        Self { liar: Arc::new(Liar { honest: Honest::default(), lie: L::default() }) }
    }

    async fn connect(&self) -> Arc<dyn LeaseBackend> {
        self.liar.clone()
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn lacks(&self, power: Power) -> &'static str {
        match power {
            Power::Restart | Power::Census => "the memory inside is out of reach",
            Power::HoldSession
            | Power::HoldLease
            | Power::Corrupt
            | Power::HalfClose
            | Power::Outage
            | Power::LoseHints
            | Power::Purge
            | Power::CountCalls
            | Power::SkewedClock
            | Power::Misuse
            | Power::Rival => panic!("the simulated storage has {power:?}"),
        }
    }

    async fn hold_session(&self, session: &SessionId) -> Result<Fault, Lack> {
        Ok(self.liar.honest.hold(session.as_str()))
    }

    async fn hold_lease(&self, name: &LeaseName) -> Result<Fault, Lack> {
        Ok(self.liar.honest.hold(name.as_str()))
    }

    async fn corrupt(&self, name: &LeaseName) -> Result<(), Lack> {
        self.liar.honest.corrupt(name);
        Ok(())
    }

    async fn half_close(&self, session: &SessionId) -> Result<(), Lack> {
        self.liar.honest.half_close(session);
        Ok(())
    }

    async fn outage(&self, outage: Outage) -> Result<Fault, Lack> {
        Ok(self.liar.honest.break_down(outage))
    }

    async fn lose_hints(&self) -> Result<(), Lack> {
        self.liar.honest.flood_hints().await;
        Ok(())
    }

    fn purge_interval(&self) -> Result<Duration, Lack> {
        Ok(Duration::from_secs(60))
    }

    async fn calls(&self) -> Result<u64, Lack> {
        Ok(self.liar.honest.calls())
    }

    async fn connect_skewed(&self, _skew: Skew) -> Result<Arc<dyn LeaseBackend>, Lack> {
        Ok(Arc::new(Liar { honest: self.liar.honest.skewed(), lie: L::default() }))
    }

    async fn misuses(&self) -> Result<Vec<Misuse>, Lack> {
        Ok(vec![self.liar.lie.misuse()])
    }

    async fn rival(&self, _names: &[LeaseName], _contest: Contest) -> Result<Box<dyn Rival>, Lack> {
        Ok(Box::new(Stoppable(self.liar.honest.clone())))
    }
}
