//! PostgreSQL.

mod configuration;
mod standby;

use std::sync::Arc;

use crate::{
    ADMIN_PASSWORD, APP_PASSWORD, Lacking, Options,
    answer::execute,
    external,
    folder::Folder,
    instance::{Instance, verbs},
    kit::Kit,
    port::Port,
    server::{Farewell, Server},
    wait::until,
};

/// A PostgreSQL server.
#[derive(Clone, Debug)]
pub struct Postgres {
    instance: Arc<Instance>,
}

verbs!(Postgres);

impl Postgres {
    /// One as usual.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn start() -> Self {
        Self::with(Options::new()).await
    }

    /// One with settings of its own. A server that runs already has its own.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with(options: Options) -> Self {
        if let Some(url) = external::url_of(Kit::POSTGRES) {
            return Self { instance: Arc::new(external::database_in(&url).await) };
        }
        let folder = Folder::new(options.durability);
        folder.copy_data(Kit::POSTGRES).await;
        Self::in_folder(folder, &configuration::of(&options)).await
    }

    /// Makes every transaction that begins from now on refuse to write (25006), also in sessions that are
    /// there, as a server does that was demoted.
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
        self.set("default_transaction_read_only", "on").await
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
        self.set("default_transaction_read_only", "off").await
    }

    async fn in_folder(folder: Folder, configuration: &str) -> Self {
        let port = Port::new();
        let address = port.address();
        let listen = format!("port = {}\n", port.number());
        configuration::append(&folder, &format!("{configuration}{listen}"));
        let data = folder.data().display().to_string();
        let url = |user: &str, password: &str| format!("postgres://{user}:{password}@{address}/app");
        let admin_url = url("admin", ADMIN_PASSWORD);
        let server = Server::new(Kit::POSTGRES, Farewell::Quit, folder, port, admin_url.clone())
            .with_arguments(["-D".into(), data]);
        server.start().await;
        let url = url("app", APP_PASSWORD);
        Self { instance: Arc::new(Instance { address, url, admin_url, server: Some(server) }) }
    }

    /// Changes a setting while the server runs, for good, and waits until it is in force.
    async fn set(&self, setting: &str, value: &str) -> Lacking {
        self.instance.own()?;
        let alter = format!("alter system set {setting} = '{value}'");
        self.execute(&[&alter, "select pg_reload_conf()"]).await;
        let shows = format!("select 1 / (current_setting('{setting}') = '{value}')::int");
        until(&format!("{setting} = {value}"), || async {
            // A new session has what the server has; those that are there were told at the same time.
            execute(self.admin_url(), &[&shows]).await.ok()
        })
        .await;
        Ok(())
    }

    async fn execute(&self, statements: &[&str]) {
        let done = execute(self.admin_url(), statements).await;
        done.unwrap_or_else(|error| panic!("the administrator is refused `{}`: {error}", statements[0]));
    }
}
