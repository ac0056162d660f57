//! One run: nodes, each an engine in the loop that the keeper is, over a wire and a storage.
//!
//! ```text
//!   users ── contend, withdraw ──► node: step(moment, input) ── calls ──► wire ──► storage
//!     ▲                              │ ▲                                            │
//!     └── terms ── checked ◄─────────┘ └──────────── answers, hints ◄───────────────┘
//! ```
//!
//! Compiled once against the engine and once against each mutant of it.

mod calls;
mod faults;
mod keeper;
mod node;
mod phases;
mod promise;
mod terms;
mod users;
mod wire;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::world::World;
use crate::{Breaks, Outcome, Plan, Trace, Violation};

/// Runs a plan to its end or to the first violation. An engine that panics violates its own invariants.
pub(crate) fn run(plan: &Plan, trace: &mut Trace) -> Outcome {
    let mut world = World::new(plan, trace);
    let ended = catch_unwind(AssertUnwindSafe(|| world.run()));
    let violation = match ended {
        Ok(checked) => checked.err(),
        Err(panic) => {
            let what = panic.downcast_ref::<String>().cloned();
            let what = what.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            let what = what.unwrap_or_else(|| "a panic without words".to_owned());
            Some(Violation { rule: "engine invariant", what, breaks: Breaks::Conduct })
        }
    };
    Outcome { violation, shown: std::mem::take(&mut world.shown), counts: world.counts }
}
