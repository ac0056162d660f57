//! The deployments.

mod alone;
mod clustered;
mod watched;

#[allow(unused_imports, reason = "each binary has one")]
pub(crate) use self::{alone::Alone, clustered::Clustered, watched::Watched};
