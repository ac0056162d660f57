//! What the tests of ZooKeeper share: one server, and an ensemble.
//!
//! Each binary includes this folder and says which deployment its [`Storage`](crate::Storage) is of.

pub(crate) mod deployment;
pub(crate) mod fixture;
mod misuse;
pub(crate) mod operator;
pub(crate) mod paths;
pub(crate) mod ways;
