//! The deployments.

mod alone;
mod clustered;
mod watched;

pub(crate) use self::{alone::Alone, clustered::Clustered, watched::Watched};
