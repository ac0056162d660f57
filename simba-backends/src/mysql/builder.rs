//! Setting up the storage.

use std::{fmt, sync::Arc, time::Duration};

use sqlx::{ConnectOptions, MySql, MySqlPool, mysql::MySqlConnectOptions};

use super::{
    MySqlBackend, Shared, flavour::Flavour, known::Known, location, message::Frame, schema, watch::Watchers,
};
use crate::{
    BackendError,
    sql::{Connections, Freed, PurgeTimer, Server},
};

/// Nobody waits that long.
const LONGEST_CALL: Duration = Duration::from_secs(3600);

/// A hint is due within a second.
const SLOWEST_HINT_POLL: Duration = Duration::from_millis(400);

/// How long a call may wait for the row of a lease, which nobody has locked unless by hand.
const ROW_WAIT: Duration = Duration::from_secs(1);

/// The settings of a [`MySqlBackend`].
#[derive(Clone)]
pub struct MySqlBuilder {
    given: Given,
    tables: Tables,
    max_connections: usize,
    call_timeout: Duration,
    purge_interval: Duration,
    hint_poll: Duration,
}

#[derive(Clone)]
enum Given {
    Options(Box<MySqlConnectOptions>),
    Pool(MySqlPool),
}

#[derive(Clone, Copy, Debug)]
enum Tables {
    Expected,
    Created,
}

impl MySqlBuilder {
    pub(super) fn from_url(url: &str) -> Result<Self, BackendError> {
        location::parse(url).map(Self::from_options)
    }

    /// Without our statements in the application's log, and in the one character set that has all characters.
    pub(super) fn from_options(options: MySqlConnectOptions) -> Self {
        let options = options.charset("utf8mb4");
        Self::new(Given::Options(Box::new(options.disable_statement_logging())))
    }

    pub(super) fn from_pool(pool: MySqlPool) -> Self {
        Self::new(Given::Pool(pool))
    }

    fn new(given: Given) -> Self {
        Self {
            given,
            tables: Tables::Expected,
            max_connections: 4,
            call_timeout: Duration::from_secs(5),
            purge_interval: Duration::from_secs(60),
            hint_poll: Duration::from_millis(100),
        }
    }

    /// Sets how many connections there are at most beside the one for keep-alives. 4 unless set; an
    /// application's pool has its own number.
    #[must_use]
    pub fn max_connections(mut self, most: usize) -> Self {
        self.max_connections = most;
        self
    }

    /// Sets how long a call may take. 5 s unless set.
    ///
    /// A call that took longer may still be applied. Not longer than the renew interval: the engine gives up
    /// on it then.
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

    /// Sets how often the wanted names are looked at while a name is waited for. 100 ms unless set, at most
    /// 400 ms; slower the more names there are.
    #[must_use]
    pub fn hint_poll(mut self, pace: Duration) -> Self {
        self.hint_poll = pace;
        self
    }

    /// Lets [`connect`](Self::connect) make the tables that are missing, as `sql/init-simba-mysql.sql` does. The
    /// user then needs the right to create tables.
    #[must_use]
    pub fn create_tables(mut self) -> Self {
        self.tables = Tables::Created;
        self
    }

    /// Connects, and looks whether the server can be used and the tables are Simba's.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for a URL or setting that cannot work,
    /// [`Schema`](crate::ErrorKind::Schema) where tables are missing or not Simba's,
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a server that is too old,
    /// [`Unauthorized`](crate::ErrorKind::Unauthorized), [`Unavailable`](crate::ErrorKind::Unavailable) and
    /// [`Timeout`](crate::ErrorKind::Timeout) as the server has it.
    ///
    /// # Cancel safety
    /// A dropped call may leave tables behind, all or some.
    pub async fn connect(self) -> Result<MySqlBackend, BackendError> {
        self.check()?;
        #[cfg(feature = "zookeeper-tls")]
        crate::tls::choose_provider();
        let server = Server::new(location::place(&self.options()), self.connections(), self.call_timeout);
        let flavour = schema::flavour(&server).await?;
        let frame = self.frame(flavour);
        match self.tables {
            Tables::Expected => {}
            Tables::Created => schema::create(&server, &frame).await?,
        }
        schema::check(&server, &frame).await?;
        server.let_go().await;
        let shared = Shared {
            flavour,
            frame,
            // The kept connection is ours also where the pool is the application's.
            kept_frame: Frame::ours(flavour, self.call_timeout, self.call_timeout),
            server,
            known: Known::default(),
            purge: PurgeTimer::new(self.purge_interval),
            freed: Freed::default(),
            hint_poll: self.hint_poll,
            watchers: Watchers::default(),
        };
        Ok(MySqlBackend { shared: Arc::new(shared) })
    }

    fn frame(&self, flavour: Flavour) -> Frame {
        let limit = self.call_timeout;
        match self.given {
            Given::Options(_) => Frame::ours(flavour, ROW_WAIT.min(limit), limit),
            Given::Pool(_) => Frame::theirs(flavour, ROW_WAIT.min(limit), limit),
        }
    }

    fn options(&self) -> MySqlConnectOptions {
        match &self.given {
            Given::Options(options) => options.as_ref().clone(),
            Given::Pool(pool) => pool.connect_options().as_ref().clone(),
        }
    }

    fn connections(&self) -> Connections<MySql> {
        match &self.given {
            Given::Options(options) => Connections::ours(options.as_ref().clone(), self.max_connections),
            Given::Pool(pool) => Connections::Theirs(pool.clone()),
        }
    }

    fn check(&self) -> Result<(), BackendError> {
        let fits = |value: Duration, most: Duration| value >= Duration::from_millis(1) && value <= most;
        if !(1..=10_000).contains(&self.max_connections) {
            return Err(BackendError::config(
                "a mysql storage has from 1 to 10,000 connections for its calls",
            ));
        }
        if !fits(self.call_timeout, LONGEST_CALL) {
            return Err(BackendError::config("the call timeout of a mysql storage is from 1 ms to an hour"));
        }
        if !fits(self.hint_poll, SLOWEST_HINT_POLL) {
            return Err(BackendError::config("the hint poll of a mysql storage is from 1 to 400 ms"));
        }
        Ok(())
    }
}

impl fmt::Debug for MySqlBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MySqlBuilder")
            .field("place", &location::place(&self.options()))
            .field("tables", &self.tables)
            .field("max_connections", &self.max_connections)
            .field("call_timeout", &self.call_timeout)
            .field("purge_interval", &self.purge_interval)
            .field("hint_poll", &self.hint_poll)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::mysql::MySqlBackend;

    #[test]
    fn a_password_is_shown_nowhere() {
        let url = "mysql://shop:s3cret@db.example:3307/orders?ssl-mode=REQUIRED";
        let shown = format!("{:?}", MySqlBackend::builder(url).unwrap());
        assert!(shown.contains("mysql://shop@db.example:3307/orders"), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
