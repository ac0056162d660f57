//! PgBouncer, in front of PostgreSQL.

use std::sync::Arc;

use crate::{
    ADMIN_PASSWORD, APP_PASSWORD, Postgres, external,
    folder::Folder,
    instance::{Instance, verbs},
    kit::Kit,
    options::Durability,
    port::Port,
    server::{Farewell, Server},
};

/// A PgBouncer in transaction mode, with the users of the server behind it.
#[derive(Clone, Debug)]
pub struct PgBouncer {
    instance: Arc<Instance>,
    /// Ends after it.
    _behind: Postgres,
}

verbs!(PgBouncer);

impl PgBouncer {
    /// One in front of that server.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn before(postgres: &Postgres) -> Self {
        let instance = match external::url_of(Kit::PGBOUNCER) {
            Some(url) => there(&url, postgres),
            None => start(postgres).await,
        };
        Self { instance: Arc::new(instance), _behind: postgres.clone() }
    }
}

fn there(url: &str, postgres: &Postgres) -> Instance {
    let (_, host) = external::around_host(url);
    let through = |url: &str| {
        let (before, direct) = external::around_host(url);
        format!("{before}{host}{}", &url[before.len() + direct.len()..])
    };
    Instance {
        address: external::address_of(url),
        url: through(postgres.url()),
        admin_url: through(postgres.admin_url()),
        server: None,
    }
}

async fn start(postgres: &Postgres) -> Instance {
    Kit::PGBOUNCER.server();
    let (folder, port) = (Folder::new(Durability::Process), Port::new());
    let address = port.address();
    let users = format!("\"app\" \"{APP_PASSWORD}\"\n\"admin\" \"{ADMIN_PASSWORD}\"\n");
    let users = folder.write("users.txt", users.as_bytes());
    let behind = postgres.address();
    let configuration = format!(
        "[databases]
        * = host={} port={}
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = {}
        unix_socket_dir =
        auth_type = scram-sha-256
        auth_file = {}
        pool_mode = transaction
        max_client_conn = 300
        ignore_startup_parameters = extra_float_digits,options
        ",
        behind.ip(),
        behind.port(),
        port.number(),
        users.display(),
    );
    let configuration = folder.write("pgbouncer.ini", configuration.as_bytes());
    let url = |user: &str, password: &str| format!("postgres://{user}:{password}@{address}/app");
    let (admin_url, url) = (url("admin", ADMIN_PASSWORD), url("app", APP_PASSWORD));
    let server = Server::new(Kit::PGBOUNCER, Farewell::Kill, folder, port, url.clone())
        .with_arguments([configuration.display().to_string()]);
    server.start().await;
    Instance { address, url, admin_url, server: Some(server) }
}
