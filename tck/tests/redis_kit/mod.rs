//! What the tests of Redis share: alone, under sentinels, in a cluster.
//!
//! Each binary includes this folder and says which deployment its [`Storage`](crate::Storage) is of.

pub(crate) mod deployment;
pub(crate) mod fixture;
pub(crate) mod keys;
mod misuse;
pub(crate) mod operator;
mod situations;
pub(crate) mod ways;
