//! The driver alone: the statements that a lock without sessions would run, on held connections.

use std::{sync::LazyLock, time::Duration};

use redis::{Client, Script, aio::MultiplexedConnection};
use sqlx::{Connection, MySqlConnection, PgConnection, SqliteConnection};
use tokio::task::JoinSet;

use zookeeper_client::{Acls, Client as ZooKeeper, CreateMode, Error};

use crate::{clock::now, storage::Storage};

/// How many connections the raw driver holds beside many tasks.
pub(crate) const CONNECTIONS: usize = 4;

/// One held connection.
enum Raw {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
    MySql(MySqlConnection),
    /// Shared: the driver sends what comes meanwhile together.
    Redis(MultiplexedConnection),
    /// Shared: the driver sends what comes meanwhile after one another, and waits for none.
    ZooKeeper(ZooKeeper),
}

/// What the raw driver's nodes are under.
const RAW: &str = "/raw";

/// Pairs on so many connections at once: how long each took, and how long all.
pub(crate) async fn pairs(storage: &Storage, connections: usize, each: u32) -> (Vec<Duration>, Duration) {
    let mut ready = vec![Raw::open(storage).await];
    for _ in 1..connections {
        let next = match &ready[0] {
            Raw::Redis(shared) => Raw::Redis(shared.clone()),
            Raw::ZooKeeper(shared) => Raw::ZooKeeper(shared.clone()),
            Raw::Sqlite(_) | Raw::Postgres(_) | Raw::MySql(_) => Raw::open(storage).await,
        };
        ready.push(next);
    }
    let start = now();
    let mut work = JoinSet::new();
    for (nth, mut raw) in ready.into_iter().enumerate() {
        work.spawn(async move {
            let mut took = Vec::new();
            for _ in 0..each {
                let start = now();
                raw.pair(&format!("raw-{nth}")).await;
                took.push(start.elapsed());
            }
            took
        });
    }
    let took = work.join_all().await.into_iter().flatten().collect();
    (took, start.elapsed())
}

impl Raw {
    async fn open(storage: &Storage) -> Self {
        let driver = "the storage is there";
        let mut raw = match storage.kind {
            "sqlite" => {
                let url = storage.url.replace("simba.db", "raw.db?mode=rwc");
                let mut sqlite = SqliteConnection::connect(&url).await.expect(driver);
                let durable = "pragma journal_mode = wal; pragma synchronous = full";
                sqlx::raw_sql(durable).execute(&mut sqlite).await.expect(driver);
                Self::Sqlite(sqlite)
            }
            "redis" => {
                let client = Client::open(storage.url.as_str()).expect("a good URL");
                return Self::Redis(client.get_multiplexed_async_connection().await.expect(driver));
            }
            "zookeeper" => {
                let hosts = storage.url.trim_start_matches("zookeeper://");
                Self::ZooKeeper(ZooKeeper::connect(hosts).await.expect(driver))
            }
            "postgres" => Self::Postgres(PgConnection::connect(&storage.url).await.expect(driver)),
            _ => Self::MySql(MySqlConnection::connect(&storage.url).await.expect(driver)),
        };
        raw.create_table().await;
        raw
    }

    async fn create_table(&mut self) {
        const TABLE: &str = "create table if not exists raw_lease
            (name varchar(128) primary key, session varchar(32) not null, token bigint not null)";
        let made = match self {
            Self::Sqlite(driver) => sqlx::query(TABLE).execute(driver).await.map(|_| ()),
            Self::Postgres(driver) => sqlx::query(TABLE).execute(driver).await.map(|_| ()),
            Self::MySql(driver) => sqlx::query(TABLE).execute(driver).await.map(|_| ()),
            Self::Redis(_) => Ok(()),
            Self::ZooKeeper(driver) => {
                let made =
                    driver.create(RAW, b"", &CreateMode::Persistent.with_acls(Acls::anyone_all())).await;
                assert!(matches!(made, Ok(_) | Err(Error::NodeExists)), "everybody may: {made:?}");
                Ok(())
            }
        };
        made.expect("the user owns the database");
    }

    async fn pair(&mut self, name: &str) {
        const ACQUIRE: &str = "insert into raw_lease as l (name, session, token) values ($1, 'me', 1)
            on conflict (name) do update set session = 'me', token = l.token + 1 where l.session = ''";
        const ACQUIRE_MYSQL: &str = "insert into raw_lease (name, session, token) values (?, 'me', 1)
            on duplicate key update token = if(session = '', token + 1, token),
                session = if(session = '', 'me', session)";
        const RELEASE: &str = "update raw_lease set session = '' where name = $1 and session = 'me'";
        const RELEASE_MYSQL: &str = "update raw_lease set session = '' where name = ? and session = 'me'";
        let right = "the statement is right";
        match self {
            Self::Sqlite(driver) => {
                for statement in [ACQUIRE, RELEASE] {
                    sqlx::query(statement).bind(name).execute(&mut *driver).await.expect(right);
                }
            }
            Self::Postgres(driver) => {
                for statement in [ACQUIRE, RELEASE] {
                    sqlx::query(statement).bind(name).execute(&mut *driver).await.expect(right);
                }
            }
            Self::MySql(driver) => {
                for statement in [ACQUIRE_MYSQL, RELEASE_MYSQL] {
                    sqlx::query(statement).bind(name).execute(&mut *driver).await.expect(right);
                }
            }
            Self::Redis(driver) => {
                static RELEASE_REDIS: LazyLock<Script> = LazyLock::new(|| {
                    Script::new(
                        "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end",
                    )
                });
                let key = format!("simba:{name}");
                let mut take = redis::cmd("SET");
                take.arg(&key).arg("me").arg("NX").arg("PX").arg(15_000);
                take.exec_async(&mut *driver).await.expect(right);
                RELEASE_REDIS.key(&key).arg("me").invoke_async::<()>(driver).await.expect(right);
            }
            Self::ZooKeeper(driver) => {
                let path = format!("{RAW}/{name}");
                let ephemeral = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
                driver.create(&path, b"me", &ephemeral).await.expect(right);
                driver.delete(&path, None).await.expect(right);
            }
        }
    }
}
