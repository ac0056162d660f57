//! Setting up the storage.

use std::{fmt, sync::Arc, time::Duration};

use sqlx::{ConnectOptions, PgPool, Postgres, postgres::PgConnectOptions};

use super::{
    Hinting, PostgresBackend, Shared,
    listen::Listening,
    notify::Freed,
    plan::{self, Plans},
    pooler, release, schema, take,
};
use crate::{
    BackendError,
    sql::{Connections, PurgeTimer, Server},
    url::UrlForm,
};

/// Nobody waits that long, and the server counts milliseconds in 32 bits.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

const FORM: UrlForm = UrlForm {
    storage: "PostgreSQL",
    schemes: &["postgres", "postgresql"],
    example: "postgres://user:password@host:5432/database",
    parameters: &[
        "sslmode",
        "ssl-mode",
        "sslrootcert",
        "ssl-root-cert",
        "ssl-ca",
        "sslcert",
        "ssl-cert",
        "sslkey",
        "ssl-key",
        "host",
        "hostaddr",
        "port",
        "dbname",
        "user",
        "password",
        "application_name",
        "options",
    ],
};

/// The settings of a [`PostgresBackend`].
#[derive(Clone)]
pub struct PostgresBuilder {
    given: Given,
    tables: Tables,
    max_connections: usize,
    call_timeout: Duration,
    purge_interval: Duration,
}

#[derive(Clone)]
enum Given {
    Options(Box<PgConnectOptions>),
    Pool(PgPool),
}

#[derive(Clone, Copy, Debug)]
enum Tables {
    Expected,
    Created,
}

impl PostgresBuilder {
    pub(super) fn from_url(url: &str) -> Result<Self, BackendError> {
        FORM.check(url)?;
        url.parse().map(Self::from_options).map_err(|error: sqlx::Error| FORM.unreadable().with_source(error))
    }

    /// With nothing that a pooler would refuse or keep, and without our statements in the application's log.
    pub(super) fn from_options(options: PgConnectOptions) -> Self {
        let options = options.statement_cache_capacity(0).extra_float_digits(None);
        Self::new(Given::Options(Box::new(options.disable_statement_logging())))
    }

    pub(super) fn from_pool(pool: PgPool) -> Self {
        Self::new(Given::Pool(pool))
    }

    fn new(given: Given) -> Self {
        Self {
            given,
            tables: Tables::Expected,
            max_connections: 4,
            call_timeout: Duration::from_secs(5),
            purge_interval: Duration::from_secs(60),
        }
    }

    /// Sets how many connections calls take turns on, not counting the one for keep-alives and the one for
    /// hints. 4 unless set; the application's pool has a number of its own.
    #[must_use]
    pub fn max_connections(mut self, most: usize) -> Self {
        self.max_connections = most;
        self
    }

    /// Sets how long a call waits: for its turn, for a new connection, and for its answer. 5 s unless set; at
    /// most the renew interval, after which the engine gives up on a call anyway.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Sets how often, at most, dead sessions are looked for. 60 s unless set.
    #[must_use]
    pub fn purge_interval(mut self, interval: Duration) -> Self {
        self.purge_interval = interval;
        self
    }

    /// Lets [`connect`](Self::connect) run `sql/init-simba-postgresql.sql` if a table is missing. The role then
    /// needs the right to create tables, and owns them.
    #[must_use]
    pub fn create_tables(mut self) -> Self {
        self.tables = Tables::Created;
        self
    }

    /// Connects, and looks whether the tables are Simba's and whether there is a pooler on the way.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for a setting that cannot work, a database that does not exist, and
    /// TLS that the server does not have, [`Unauthorized`](crate::ErrorKind::Unauthorized),
    /// [`Schema`](crate::ErrorKind::Schema) for tables that are missing or not Simba's (the message names the
    /// script), [`Unavailable`](crate::ErrorKind::Unavailable) and [`Timeout`](crate::ErrorKind::Timeout).
    ///
    /// # Cancel safety
    /// A dropped call may leave tables behind, all or none.
    pub async fn connect(self) -> Result<PostgresBackend, BackendError> {
        self.check()?;
        #[cfg(feature = "zookeeper-tls")]
        crate::tls::choose_provider();
        let place = place(&self.options());
        let server = Server::new(place, self.connections(), self.call_timeout);
        let limit = self.call_timeout * 9 / 10;
        match self.tables {
            Tables::Expected => {}
            Tables::Created => schema::create(&server, limit).await?,
        }
        schema::check(&server, limit).await?;
        let hints = pooler::hinting(&server, self.call_timeout).await?;
        let plans = match (&self.given, hints) {
            (Given::Options(_), Hinting::Listen) => Plans::Kept,
            (Given::Pool(_), _) | (_, Hinting::Off) => Plans::Never,
        };
        if plans == Plans::Kept {
            server.connections().greet(plan::prepare(&[
                &take::INSERT,
                &take::TAKE,
                &take::LOOK,
                &release::FREE,
                &release::HELD,
            ]));
        }
        server.let_go().await;
        let shared = Shared {
            hints,
            plans,
            server,
            limit,
            call_timeout: self.call_timeout,
            purge: PurgeTimer::new(self.purge_interval),
            freed: Freed::default(),
            listening: Listening::default(),
        };
        Ok(PostgresBackend { shared: Arc::new(shared) })
    }

    fn options(&self) -> PgConnectOptions {
        match &self.given {
            Given::Options(options) => options.as_ref().clone(),
            Given::Pool(pool) => pool.connect_options().as_ref().clone(),
        }
    }

    fn connections(&self) -> Connections<Postgres> {
        match &self.given {
            Given::Options(options) => Connections::ours(options.as_ref().clone(), self.max_connections),
            Given::Pool(pool) => Connections::Theirs(pool.clone()),
        }
    }

    fn check(&self) -> Result<(), BackendError> {
        if self.call_timeout < Duration::from_millis(10) || self.call_timeout > LONGEST {
            return Err(BackendError::config(
                "the call timeout of a PostgreSQL storage is from 10 ms to a day",
            ));
        }
        if !(1..=10_000).contains(&self.max_connections) {
            return Err(BackendError::config(
                "a PostgreSQL storage has from 1 to 10,000 connections for its calls",
            ));
        }
        Ok(())
    }
}

/// The server's name, without a secret.
fn place(options: &PgConnectOptions) -> String {
    let user = options.get_username();
    let database = options.get_database().unwrap_or(user);
    match options.get_socket() {
        Some(socket) => format!("postgres://{user}@{}/{database}", socket.display()),
        None => format!("postgres://{user}@{}:{}/{database}", options.get_host(), options.get_port()),
    }
}

impl fmt::Debug for PostgresBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresBuilder")
            .field("place", &place(&self.options()))
            .field("tables", &self.tables)
            .field("max_connections", &self.max_connections)
            .field("call_timeout", &self.call_timeout)
            .field("purge_interval", &self.purge_interval)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_password_is_shown_nowhere() {
        let url = "postgres://shop:s3cret@db.example:5433/orders?sslmode=require";
        let shown = format!("{:?}", PostgresBackend::builder(url).unwrap());
        assert!(shown.contains("postgres://shop@db.example:5433/orders"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
        for bad in [
            "postgres://shop:s3cret/@x/y",
            "postgres://shop:12/s3cret@x/y",
            "postgres://shop:12?s3cret@x/y",
            "postgres://shop:12#s3cret@x/y",
            "postgres://shop:12@s3cret@x/y",
            "postgres://shop@x/y?pasword=s3cret",
            "postgres://shop:s3cret@x/y?ssl_mode=require",
            "postgres://shop:s3cret@x/y?sslmode=no",
            "mysql://a:s3cret@b/c",
        ] {
            let error = PostgresBackend::builder(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{bad}");
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
        }
    }
}
