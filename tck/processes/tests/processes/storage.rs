//! Where a test keeps its leases.

use std::{net::SocketAddr, path::PathBuf};

use simba_servers::{
    APP_PASSWORD, Flavour, Lacking, MySql, Offset, Postgres, Redis, RedisCluster, Sentinels, ZooKeeper,
    ZooKeeperEnsemble,
};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection};

use crate::scratch::Scratch;

/// The file of [`Storage::Sqlite`].
pub(crate) const SQLITE: &str = "simba.db";

pub(crate) enum Storage {
    Sqlite(Scratch),
    Postgres(Postgres),
    MySql(MySql),
    Redis(Redis),
    /// A grant counts once a replica has it.
    Sentinels(Sentinels),
    Cluster(RedisCluster),
    ZooKeeper(ZooKeeper),
    /// Three servers, of which one leads.
    Ensemble(ZooKeeperEnsemble),
}

/// The verb of whichever server it is.
macro_rules! of_server {
    ($storage:expr, $server:ident => $does:expr) => {
        match $storage {
            Storage::Sqlite(_) => unreachable!("a file is no server"),
            Storage::Postgres($server) => $does,
            Storage::MySql($server) => $does,
            Storage::Redis($server) => $does,
            Storage::ZooKeeper($server) => $does,
            Storage::Sentinels(_) | Storage::Cluster(_) | Storage::Ensemble(_) => {
                unreachable!("these are several servers")
            }
        }
    };
}

/// The verb of whichever server it is that can be told to take no writes.
macro_rules! of_database {
    ($storage:expr, $server:ident => $does:expr) => {
        match $storage {
            Storage::Postgres($server) => $does,
            Storage::MySql($server) => $does,
            Storage::Redis($server) => $does,
            Storage::Sqlite(_)
            | Storage::Sentinels(_)
            | Storage::Cluster(_)
            | Storage::ZooKeeper(_)
            | Storage::Ensemble(_) => unreachable!("it always takes writes"),
        }
    };
}

impl Storage {
    pub(crate) async fn sqlite() -> Self {
        Self::Sqlite(Scratch::new())
    }

    pub(crate) async fn postgres() -> Self {
        Self::Postgres(Postgres::start().await).with_tables().await
    }

    pub(crate) async fn mysql() -> Self {
        Self::MySql(MySql::start(Flavour::MySql).await).with_tables().await
    }

    pub(crate) async fn mariadb() -> Self {
        Self::MySql(MySql::start(Flavour::MariaDb).await).with_tables().await
    }

    pub(crate) async fn redis() -> Self {
        Self::Redis(Redis::start().await)
    }

    pub(crate) async fn redis_sentinel() -> Self {
        Self::Sentinels(Sentinels::start().await)
    }

    pub(crate) async fn redis_cluster() -> Self {
        Self::Cluster(RedisCluster::start().await)
    }

    pub(crate) async fn zookeeper() -> Self {
        Self::ZooKeeper(ZooKeeper::start().await)
    }

    pub(crate) async fn zookeeper_ensemble() -> Self {
        Self::Ensemble(ZooKeeperEnsemble::start().await)
    }

    async fn with_tables(self) -> Self {
        self.create_tables().await;
        self
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(file) => file.url(SQLITE),
            Self::Postgres(server) => server.url().to_owned(),
            Self::MySql(server) => server.url().to_owned(),
            Self::Redis(server) => server.url().to_owned(),
            Self::Sentinels(servers) => format!("{}?wait_replicas=1", servers.url()),
            Self::Cluster(servers) => servers.url().to_owned(),
            Self::ZooKeeper(server) => server.url().to_owned(),
            Self::Ensemble(servers) => servers.url().to_owned(),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        of_server!(self, server => server.address())
    }

    /// Whether the test may do to the server what it wants; says so if not.
    pub(crate) fn is_ours(&self) -> bool {
        let ours = of_server!(self, server => server.pid()).is_some();
        if !ours {
            println!("not tested: the server was there before the test");
        }
        ours
    }

    pub(crate) async fn kill(&self) {
        done(of_server!(self, server => server.kill().await));
    }

    pub(crate) async fn start_again(&self) {
        done(of_server!(self, server => server.start_again().await));
    }

    pub(crate) async fn read_only(&self) {
        done(of_database!(self, server => server.read_only().await));
    }

    pub(crate) async fn read_write(&self) {
        done(of_database!(self, server => server.read_write().await));
    }

    pub(crate) fn step_clock(&self, offset: Offset) {
        done(of_server!(self, server => server.step_clock(offset)));
    }

    /// Runs the script that users run.
    pub(crate) async fn create_tables(&self) {
        let script = self.script().expect("it has tables");
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        let text = std::fs::read_to_string(root.join(script)).unwrap();
        run(&self.url(), &text).await;
    }

    /// What is named to users whose tables are missing, where there are tables.
    pub(crate) fn script(&self) -> Option<&'static str> {
        match self {
            Self::Sqlite(_) => Some("sql/init-simba-sqlite.sql"),
            Self::Postgres(_) => Some("sql/init-simba-postgresql.sql"),
            Self::MySql(_) => Some("sql/init-simba-mysql.sql"),
            Self::Redis(_)
            | Self::Sentinels(_)
            | Self::Cluster(_)
            | Self::ZooKeeper(_)
            | Self::Ensemble(_) => None,
        }
    }

    pub(crate) async fn drop_tables(&self) {
        run(&self.url(), "drop table simba_member; drop table simba_lease; drop table simba_session").await;
    }

    /// Gives the user of [`url`](Self::url) another password.
    pub(crate) async fn change_password(&self, password: &str) {
        let change = match self {
            Self::Sqlite(_) => unreachable!("a file has no password"),
            Self::Postgres(_) => format!("alter role app password '{password}'"),
            Self::MySql(_) => format!("alter user 'app'@'%' identified by '{password}'"),
            Self::ZooKeeper(_) | Self::Ensemble(_) => unreachable!("it has no users"),
            Self::Redis(_) | Self::Sentinels(_) | Self::Cluster(_) => {
                return self.order(&["ACL", "SETUSER", "app", "resetpass", &format!(">{password}")]).await;
            }
        };
        run(of_server!(self, server => server.admin_url()), &change).await;
    }

    /// Has every server of a Redis run a command.
    pub(crate) async fn order(&self, words: &[&str]) {
        match self {
            Self::Sqlite(_) | Self::Postgres(_) | Self::MySql(_) | Self::ZooKeeper(_) | Self::Ensemble(_) => {
                unreachable!("it is no Redis")
            }
            Self::Redis(server) => drop(server.execute(words).await.unwrap()),
            Self::Sentinels(servers) => {
                for server in servers.replicas().iter().chain([servers.primary()]) {
                    server.execute(words).await.unwrap();
                }
            }
            Self::Cluster(servers) => {
                for server in servers.nodes() {
                    server.execute(words).await.unwrap();
                }
            }
        }
    }

    /// The sentinels and what they watch.
    pub(crate) fn sentinels(&self) -> &Sentinels {
        let Self::Sentinels(servers) = self else { unreachable!("nobody watches it") };
        servers
    }

    pub(crate) fn cluster(&self) -> &RedisCluster {
        let Self::Cluster(servers) = self else { unreachable!("it is no cluster") };
        servers
    }

    pub(crate) fn ensemble(&self) -> &ZooKeeperEnsemble {
        let Self::Ensemble(servers) = self else { unreachable!("it is no ensemble") };
        servers
    }

    /// The URL, with something else in place of the password.
    pub(crate) fn url_with_password(&self, password: &str) -> String {
        self.url().replacen(APP_PASSWORD, password, 1)
    }
}

fn done(verb: Lacking) {
    verb.expect("the server is ours");
}

async fn run(url: &str, statements: &str) {
    let statements = sqlx::raw_sql(AssertSqlSafe(statements));
    if url.starts_with("mysql:") {
        statements.execute(&mut MySqlConnection::connect(url).await.unwrap()).await.unwrap();
    } else {
        statements.execute(&mut PgConnection::connect(url).await.unwrap()).await.unwrap();
    }
}

/// One test for each of the storages and each of the scenarios, which are functions of a storage.
macro_rules! on {
    ([$($storage:ident),*] $scenarios:tt) => { $(crate::storage::on!(@ $storage $scenarios);)* };
    (@ $storage:ident [$($scenario:ident),* $(,)?]) => {
        mod $storage {
            $(
                #[tokio::test]
                async fn $scenario() {
                    super::$scenario(crate::storage::Storage::$storage().await).await;
                }
            )*
        }
    };
}
pub(crate) use on;
