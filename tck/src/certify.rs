//! From sentences to tests.

use std::{future::Future, pin::Pin};

use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

use crate::{Clock, Fixture};

/// A sentence of the contract, ready to be run against any fixture.
pub type Sentence = for<'a> fn(&'a dyn Fixture) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Checks one sentence against a fresh storage, on a runtime with the fixture's clock.
///
/// # Panics
/// If the backend does not keep the sentence; the message says in which situation.
pub fn run<F: Fixture>(sentence: Sentence) {
    let runtime = runtime(F::clock());
    runtime.block_on(async {
        let fixture = F::fresh().await;
        let verdict = timeout(fixture.patience() * 60, sentence(&fixture)).await;
        verdict.expect("a call that never answered keeps the sentence from its verdict");
    });
}

fn runtime(clock: Clock) -> Runtime {
    let runtime = match clock {
        Clock::Virtual => Builder::new_current_thread().enable_all().start_paused(true).build(),
        Clock::Real => Builder::new_multi_thread().worker_threads(4).enable_all().build(),
    };
    runtime.expect("a runtime starts")
}

/// Makes one `#[test]` of every sentence of the contract for a [`Fixture`](crate::Fixture), in a module
/// of that name: `certify!(memory, MemoryFixture);`. The page of this crate shows a whole file.
#[macro_export]
macro_rules! certify {
    ($module:ident, $fixture:ty) => {
        mod $module {
            #[allow(unused_imports, reason = "the fixture may be named by a path of any kind")]
            use super::*;
            $crate::__sentences!(__test($fixture));
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __test {
    (($fixture:ty) $($part:ident::$sentence:ident,)*) => {
        $(
            #[test]
            fn $sentence() {
                $crate::run::<$fixture>(|fixture| {
                    ::std::boxed::Box::pin($crate::contract::$part::$sentence(fixture))
                });
            }
        )*
    };
}
