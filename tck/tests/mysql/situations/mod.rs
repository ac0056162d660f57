//! What the contract's sentences leave to each storage: situations of MySQL and of MariaDB.

mod clients;
mod clocks;
mod connections;
mod hints;
mod isolation;
mod leases;
mod load;
mod locks;
