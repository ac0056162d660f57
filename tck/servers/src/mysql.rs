//! MySQL and MariaDB.

use std::sync::Arc;

use crate::{
    ADMIN_PASSWORD, APP_PASSWORD, Lacking, Options,
    answer::execute,
    external,
    folder::Folder,
    instance::{Instance, verbs},
    kit::Kit,
    options::Durability,
    port::Port,
    server::{Farewell, Server},
};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// MySQL 8 or later.
    MySql,
    /// MariaDB 10.6 or later.
    MariaDb,
}

/// A MySQL or a MariaDB server.
#[derive(Clone, Debug)]
pub struct MySql {
    flavour: Flavour,
    instance: Arc<Instance>,
}

verbs!(MySql);

impl MySql {
    /// One as usual.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn start(flavour: Flavour) -> Self {
        Self::with(flavour, Options::new()).await
    }

    /// One with settings of its own. A server that runs already has its own.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with(flavour: Flavour, options: Options) -> Self {
        let kit = match flavour {
            Flavour::MySql => Kit::MYSQL,
            Flavour::MariaDb => Kit::MARIADB,
        };
        if let Some(url) = external::url_of(kit) {
            return Self { flavour, instance: Arc::new(external::database_in(&url).await) };
        }
        let folder = Folder::new(options.durability);
        folder.copy_data(kit).await;
        let port = Port::new();
        let address = port.address();
        let url = |user: &str, password: &str| format!("mysql://{user}:{password}@{address}/app");
        let admin_url = url("admin", ADMIN_PASSWORD);
        let place = [format!("--datadir={}", folder.data().display()), format!("--port={}", port.number())];
        let server = Server::new(kit, Farewell::Kill, folder, port, admin_url.clone())
            .with_arguments(place)
            .with_arguments(arguments(flavour, &options));
        server.start().await;
        let url = url("app", APP_PASSWORD);
        Self { flavour, instance: Arc::new(Instance { address, url, admin_url, server: Some(server) }) }
    }

    /// Which of the two it is.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// Makes it refuse every write from now on (1290), also in sessions that are there. It waits for
    /// transactions that have written.
    ///
    /// # Errors
    /// Why this server cannot be made read-only.
    ///
    /// # Panics
    /// If it does not take the order.
    ///
    /// # Cancel safety
    /// Cancelled, it may or may not be read-only; the call can be repeated.
    pub async fn read_only(&self) -> Lacking {
        self.instance.own()?;
        match self.flavour {
            Flavour::MySql => self.execute(&["set global super_read_only = 1"]).await,
            Flavour::MariaDb => self.execute(&["set global read_only = 1"]).await,
        }
        Ok(())
    }

    /// Ends [`read_only`](Self::read_only).
    ///
    /// # Errors
    /// Why this server cannot be made to write.
    ///
    /// # Panics
    /// If it does not take the order.
    ///
    /// # Cancel safety
    /// Cancelled, it may or may not be read-only; the call can be repeated.
    pub async fn read_write(&self) -> Lacking {
        self.instance.own()?;
        // On MySQL this ends super_read_only with it.
        self.execute(&["set global read_only = 0"]).await;
        Ok(())
    }

    async fn execute(&self, statements: &[&str]) {
        let done = execute(self.admin_url(), statements).await;
        done.unwrap_or_else(|error| panic!("the administrator is refused `{}`: {error}", statements[0]));
    }
}

/// Small, and everything of it in the data folder, where relative names lead.
const USUAL: [&str; 6] = [
    "--bind-address=127.0.0.1",
    "--socket=server.sock",
    "--pid-file=server.pid",
    "--skip-name-resolve",
    "--innodb-buffer-pool-size=32M",
    "--max-connections=300",
];

const MYSQL: [&str; 6] = [
    "--mysqlx=OFF",
    "--performance-schema=OFF",
    "--innodb-redo-log-capacity=16M",
    "--innodb-log-buffer-size=1M",
    "--table-open-cache=200",
    "--table-definition-cache=400",
];

/// Its recovery must find the log file as large as `install` made it.
const MARIADB: [&str; 1] = ["--innodb-log-file-size=16M"];

/// A commit is written but not synced.
const FAST: [&str; 2] = ["--innodb-flush-method=nosync", "--skip-log-bin"];

fn arguments(flavour: Flavour, options: &Options) -> Vec<String> {
    let mut arguments = USUAL.to_vec();
    match flavour {
        Flavour::MySql => arguments.extend(MYSQL),
        Flavour::MariaDb => arguments.extend(MARIADB),
    }
    match options.durability {
        Durability::Process => arguments.extend(FAST),
        Durability::Machine => {}
    }
    let settings =
        options.settings.iter().map(|(name, value)| format!("--{}={value}", name.replace('_', "-")));
    arguments.into_iter().map(String::from).chain(settings).collect()
}
