//! What is measured: each storage with every commit on the disk, but Redis with a file that it syncs each second.

use std::path::PathBuf;

use redis::from_redis_value;
use simba_servers::{Flavour, MySql, Options, Postgres, Redis, ZooKeeper};
use sqlx::{Connection, MySqlConnection, PgConnection};

pub(crate) const KINDS: [&str; 7] =
    ["memory", "sqlite", "postgres", "mysql", "mariadb", "redis", "zookeeper"];

/// A storage, its tables made; it ends with its value.
pub(crate) struct Storage {
    pub(crate) kind: &'static str,
    pub(crate) url: String,
    home: Home,
}

/// What must live as long as the storage.
#[expect(dead_code, reason = "most are only held until they are dropped")]
enum Home {
    Process,
    Folder(Folder),
    Postgres(Postgres),
    MySql(MySql),
    Redis(Redis),
    ZooKeeper(ZooKeeper),
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Storage {
    pub(crate) async fn start(kind: &'static str) -> Self {
        let (url, home) = match kind {
            "memory" => ("memory:speed".to_owned(), Home::Process),
            "sqlite" => {
                let folder = std::env::temp_dir().join(format!("simba-speed-{}", std::process::id()));
                std::fs::create_dir_all(&folder).expect("the temporary directory takes a folder");
                let url = format!("sqlite://{}", folder.join("simba.db").display());
                (url, Home::Folder(Folder(folder)))
            }
            "postgres" => {
                let server = Postgres::with(Options::new().durable()).await;
                (server.url().to_owned(), Home::Postgres(server))
            }
            "mysql" => mysql(Flavour::MySql).await,
            "mariadb" => mysql(Flavour::MariaDb).await,
            "redis" => {
                let server = Redis::start().await;
                (server.url().to_owned(), Home::Redis(server))
            }
            "zookeeper" => {
                // As long as the longest lease here.
                let options = Options::new().durable().set("maxSessionTimeout", "60000");
                let server = ZooKeeper::with(options).await;
                (server.url().to_owned(), Home::ZooKeeper(server))
            }
            _ => panic!("{kind} is none of {KINDS:?}"),
        };
        create_tables(kind, &url).await;
        Self { kind, url, home }
    }

    /// What the server counts of the scripts that it ran since it was last asked, where it counts them.
    pub(crate) async fn scripts(&self) -> Option<String> {
        let Home::Redis(server) = &self.home else { return None };
        let order = async |words: &[&str]| server.execute(words).await.expect("the administrator may");
        let info: String = from_redis_value(order(&["INFO", "commandstats"]).await).expect("a text");
        let slow: u64 = from_redis_value(order(&["SLOWLOG", "LEN"]).await).expect("a number");
        order(&["CONFIG", "RESETSTAT"]).await;
        order(&["SLOWLOG", "RESET"]).await;
        let scripts = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:")).unwrap_or("none");
        Some(format!("scripts: {scripts}; {slow} over 10 ms"))
    }
}

async fn mysql(flavour: Flavour) -> (String, Home) {
    let server = MySql::with(flavour, Options::new().durable()).await;
    (server.url().to_owned(), Home::MySql(server))
}

/// As an operator does.
async fn create_tables(kind: &str, url: &str) {
    let done = match kind {
        "postgres" => {
            let script = sqlx::raw_sql(include_str!("../../../sql/init-simba-postgresql.sql"));
            let mut driver = PgConnection::connect(url).await.expect("the server is there");
            script.execute(&mut driver).await.map(|_| ())
        }
        "mysql" | "mariadb" => {
            let script = sqlx::raw_sql(include_str!("../../../sql/init-simba-mysql.sql"));
            let mut driver = MySqlConnection::connect(url).await.expect("the server is there");
            script.execute(&mut driver).await.map(|_| ())
        }
        _ => Ok(()), // made by who opens it
    };
    done.expect("the user owns the database");
}
