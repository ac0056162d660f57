//! What the contract's sentences leave to Redis, in each of its deployments.

mod expiry;
mod foreign;
mod futures;
mod layout;
mod scripts;
