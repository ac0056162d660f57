//! Simba through its public API: on virtual time where the point is an order of things, on real threads
//! where the point is threads.

mod alternation;
mod bad_input;
mod closing;
mod dropping;
mod events;
mod fixture;
mod handlers;
mod job;
mod lock;
mod plain_tokio;
