//! The deployments.

mod alone;
mod ensemble;

#[allow(unused_imports, reason = "each binary has one")]
pub(crate) use self::{alone::Alone, ensemble::Ensemble};
