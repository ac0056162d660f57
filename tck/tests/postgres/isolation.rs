//! The races again, where the server's default isolation is another one.

use simba_servers::Options;

use crate::fixture::{Server, Way};

struct RepeatableRead;

impl Way for RepeatableRead {
    fn options() -> Options {
        Options::new().set("default_transaction_isolation", "repeatable read")
    }
}

struct Serializable;

impl Way for Serializable {
    fn options() -> Options {
        Options::new().set("default_transaction_isolation", "serializable")
    }
}

all_races!(repeatable_read, Server<RepeatableRead>);
all_races!(serializable, Server<Serializable>);
