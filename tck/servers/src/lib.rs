//! Real servers as children of the test process, and a proxy that breaks the way to them.
//!
//! ```no_run
//! # async fn example() {
//! use simba_servers::{Postgres, Proxy};
//!
//! let postgres = Postgres::start().await;
//! let proxy = Proxy::before(postgres.address()).await;
//! let url = proxy.url(postgres.url()); // of a user who owns one empty database
//!
//! proxy.black_hole().await;
//! proxy.heal().await;
//! postgres.kill().await.unwrap();
//! postgres.start_again().await.unwrap();
//! # }
//! ```
//!
//! # What a server is
//! A process, started from a copy of a data folder that `tck/servers/install` prepared, on a loopback port that
//! no other test has. Handles can be cloned; with the last one the server ends and its folder goes. It also
//! ends with the test process, however that ends. A SIGKILL loses nothing that a server had promised to keep;
//! that a crash of the machine would is what makes it fast, unless it is [`durable`](Options::durable).
//!
//! # Servers of your own
//! Where `SIMBA_TCK_POSTGRES_URL` (`_MYSQL_`, `_MARIADB_`, `_REDIS_`, `_PGBOUNCER_`, `_ZOOKEEPER_`) is set, it names a server
//! that runs, with its administrator: `start` makes a database in it, and each verb that needs the process says
//! why it cannot. `tck/compose.yaml` has the values. A [`RedisCluster`], [`Sentinels`] and a
//! [`ZooKeeperEnsemble`] are always ours.
//!
//! # Panics
//! All of this is for tests: what does not succeed within a minute panics, with the end of the server's log.

mod answer;
mod external;
mod folder;
mod instance;
mod kit;
mod leftovers;
mod mysql;
mod nursery;
mod options;
mod pgbouncer;
mod port;
mod postgres;
mod process;
mod proxy;
mod redis;
mod server;
mod shared_memory;
mod wait;
mod zookeeper;

pub use instance::{Lacking, Offset};
pub use kit::clock_shim;
pub use mysql::{Flavour, MySql};
pub use options::Options;
pub use pgbouncer::PgBouncer;
pub use postgres::Postgres;
pub use proxy::{LostReply, Proxy};

pub use self::{
    redis::{ClusterNode, Migration, Redis, RedisCluster, Sentinel, Sentinels},
    zookeeper::{Cut, ZooKeeper, ZooKeeperEnsemble, ZooKeeperMode},
};

/// The password in each `url()`, which no message may show; `install` gives it to the user.
pub const APP_PASSWORD: &str = "secret-of-app";

/// The password in each `admin_url()`.
pub const ADMIN_PASSWORD: &str = "secret-of-admin";
