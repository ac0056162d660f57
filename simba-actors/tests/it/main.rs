//! Simba through its public API: on virtual time where the point is an order of things, on real threads
//! where the point is threads.

#![expect(clippy::print_stdout, reason = "what is measured is printed")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod alternation;
mod bad_input;
mod closing;
mod dropping;
mod events;
mod fixture;
mod handlers;
mod herd;
mod job;
mod lock;
mod plain_tokio;
mod renewal;
mod steps;
mod thread;
