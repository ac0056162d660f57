//! The races again, where the server's default isolation is another one than the usual repeatable read.

use simba_servers::Options;

use crate::fixture::{Server, Settings};

struct ReadCommitted;

impl Settings for ReadCommitted {
    fn options() -> Options {
        Options::new().set("transaction_isolation", "READ-COMMITTED")
    }
}

struct Serializable;

impl Settings for Serializable {
    fn options() -> Options {
        Options::new().set("transaction_isolation", "SERIALIZABLE")
    }
}

all_races!(read_committed, Server<ReadCommitted>);
all_races!(serializable, Server<Serializable>);
