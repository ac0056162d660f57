//! A PostgreSQL server of its own for each test, and the ways to it.

use std::{fmt, future::Future, marker::PhantomData, sync::Arc, time::Duration};

use simba_backends::{
    BackendError, ErrorKind, LeaseBackend, LeaseName, SessionId, postgres::PostgresBackend,
};
use simba_servers::{APP_PASSWORD, Lacking, Options, PgBouncer, Postgres, Proxy};
use simba_tck::{
    Census, Clock, Contest, Fault, Fixture, Lack, Misuse, Outage, Power, Rival, Skew, async_trait,
};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::rival::{Child, Remote};

/// Short, so that the purge can be waited for.
pub(crate) const PURGE_INTERVAL: Duration = Duration::from_secs(2);

/// A server's settings, and what is on the way to it.
pub(crate) trait Way: Send + Sync + 'static {
    fn options() -> Options {
        Options::new()
    }

    fn before(postgres: &Postgres) -> impl Future<Output = Option<PgBouncer>> + Send {
        let _ = postgres; // nothing is on the way
        async { None }
    }
}

/// The server as usual.
pub(crate) struct Direct;

impl Way for Direct {}

/// Through PgBouncer in transaction mode.
pub(crate) struct Bounced;

impl Way for Bounced {
    async fn before(postgres: &Postgres) -> Option<PgBouncer> {
        Some(PgBouncer::before(postgres).await)
    }
}

/// A server, the way to it, and a proxy that breaks that way.
pub(crate) struct Server<W: Way = Direct> {
    pub(crate) postgres: Postgres,
    pub(crate) proxy: Arc<Proxy>,
    bouncer: Option<PgBouncer>,
    way: PhantomData<W>,
}

impl<W: Way> Server<W> {
    /// Without tables.
    pub(crate) async fn empty() -> Self {
        let postgres = Postgres::with(W::options()).await;
        let bouncer = W::before(&postgres).await;
        let address = bouncer.as_ref().map_or(postgres.address(), PgBouncer::address);
        Self { proxy: Arc::new(Proxy::before(address).await), postgres, bouncer, way: PhantomData }
    }

    /// Without the proxy.
    pub(crate) fn url(&self) -> String {
        self.bouncer.as_ref().map_or(self.postgres.url(), PgBouncer::url).to_owned()
    }

    /// Through the proxy.
    pub(crate) fn proxied_url(&self) -> String {
        self.proxy.url(&self.url())
    }

    /// That database, or user, instead of the app's.
    fn url_of(&self, database: &str) -> String {
        let url = self.url();
        let (before, _) = url.rsplit_once('/').unwrap();
        format!("{before}/{database}")
    }

    /// With tables.
    pub(crate) async fn fresh_server() -> Self {
        let server = Self::empty().await;
        let builder = PostgresBackend::builder(&server.url()).unwrap().create_tables();
        builder.connect().await.unwrap_or_else(|error| panic!("{error:?}"));
        server
    }

    /// A client past everything.
    #[allow(dead_code, reason = "not all that include this need one")]
    pub(crate) async fn direct(&self) -> PostgresBackend {
        backend(self.postgres.url()).await
    }

    pub(crate) async fn backend(&self) -> PostgresBackend {
        backend(&self.proxied_url()).await
    }

    /// Somebody with a connection of their own, past everything.
    pub(crate) async fn operator(&self) -> Operator {
        Operator(PgConnection::connect(self.postgres.admin_url()).await.unwrap())
    }

    /// Makes a statement's locks last.
    async fn hold(&self, statement: String) -> Fault {
        let mut operator = self.operator().await;
        operator.run(&format!("begin; {statement}")).await;
        Fault::new(async move { operator.run("rollback").await })
    }

    async fn misuse(
        &self,
        situation: &'static str,
        url: &str,
        kind: ErrorKind,
        remedy: &'static str,
    ) -> Misuse {
        let error = match PostgresBackend::connect(url).await {
            Ok(_) => panic!("{situation}: connected"),
            Err(error) => error,
        };
        Misuse { situation, error, kind, remedy, secret: Some(APP_PASSWORD.to_owned()) }
    }

    /// A database with other tables than Simba's, made by that role.
    async fn misuse_of_tables(&self, situation: &'static str, owner: &str, script: &str) -> Misuse {
        let database = format!("d{}", SessionId::random());
        let mut operator = self.operator().await;
        operator.run(&format!("create database {database} owner app")).await;
        let (before, _) = self.postgres.admin_url().rsplit_once('/').unwrap();
        let mut operator = Operator(PgConnection::connect(&format!("{before}/{database}")).await.unwrap());
        operator.run(&format!("set role {owner}; {script}")).await;
        let (kind, remedy) = match owner {
            "app" => (ErrorKind::Schema, "sql/init-simba-postgresql.sql"),
            _ => (ErrorKind::Unauthorized, "grant"),
        };
        self.misuse(situation, &self.url_of(&database), kind, remedy).await
    }

    async fn corrupt_rows(&self) -> Vec<Misuse> {
        let mut operator = self.operator().await;
        let found = |situation, error, remedy| Misuse {
            situation,
            error,
            kind: ErrorKind::Corrupt,
            remedy,
            secret: Some(APP_PASSWORD.to_owned()),
        };
        operator
            .run(
                "insert into simba_lease values ('negative', '', -7), ('holder', 'not an id', 7);
                insert into simba_session values ('bad/id', 99999999999999, '');
                insert into simba_member values ('crew', 'bad/id')",
            )
            .await;
        let backend = self.backend().await;
        let error = |result: Result<_, BackendError>| result.map(|_| ()).unwrap_err();
        let negative = error(backend.inspect(&"negative".parse().unwrap()).await.map(|_| ()));
        let holder = error(backend.inspect(&"holder".parse().unwrap()).await.map(|_| ()));
        let member = error(backend.members(&"crew".parse().unwrap()).await.map(|_| ()));
        vec![
            found("a negative token", negative, "\"negative\" in simba_lease"),
            found("a holder that is none", holder, "\"holder\" in simba_lease"),
            found("a member that is none", member, "\"crew\" in simba_member"),
        ]
    }
}

/// A connection that knows nothing of Simba.
pub(crate) struct Operator(pub(crate) PgConnection);

impl Operator {
    pub(crate) async fn run(&mut self, statements: &str) {
        let done = sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut self.0).await;
        done.unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    pub(crate) async fn number(&mut self, query: &str) -> i64 {
        let asked = sqlx::query_scalar(AssertSqlSafe(query.to_owned())).fetch_one(&mut self.0).await;
        asked.unwrap_or_else(|error| panic!("{query}: {error}"))
    }
}

/// A client of the server, in whichever process.
pub(crate) async fn connect(url: &str) -> Arc<dyn LeaseBackend> {
    Arc::new(backend(url).await)
}

async fn backend(url: &str) -> PostgresBackend {
    let builder = PostgresBackend::builder(url).unwrap().purge_interval(PURGE_INTERVAL);
    builder.connect().await.unwrap_or_else(|error| panic!("{error:?}"))
}

fn possible(power: Power, done: Lacking) -> Result<(), Lack> {
    done.map_err(|reason| Lack::new(power, reason))
}

impl<W: Way> fmt::Debug for Server<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.postgres.address()).finish()
    }
}

#[async_trait]
impl<W: Way> Fixture for Server<W> {
    fn clock() -> Clock {
        Clock::Real
    }

    async fn fresh() -> Self {
        Self::fresh_server().await
    }

    async fn connect(&self) -> Arc<dyn LeaseBackend> {
        connect(&self.proxied_url()).await
    }

    fn lease(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn lacks(&self, power: Power) -> &'static str {
        panic!("a server has {power:?}")
    }

    async fn restart(&self) -> Result<(), Lack> {
        possible(Power::Restart, self.postgres.kill().await)?;
        possible(Power::Restart, self.postgres.start_again().await)
    }

    async fn hold_session(&self, session: &SessionId) -> Result<Fault, Lack> {
        Ok(self.hold(format!("select 1 from simba_session where session_id = '{session}' for update")).await)
    }

    async fn hold_lease(&self, name: &LeaseName) -> Result<Fault, Lack> {
        Ok(self.hold(format!("select 1 from simba_lease where name = '{name}' for update")).await)
    }

    async fn corrupt(&self, name: &LeaseName) -> Result<(), Lack> {
        let mut operator = self.operator().await;
        operator.run(&format!("update simba_lease set token = -7 where name = '{name}'")).await;
        Ok(())
    }

    async fn half_close(&self, session: &SessionId) -> Result<(), Lack> {
        let mut operator = self.operator().await;
        operator.run(&format!("delete from simba_session where session_id = '{session}'")).await;
        Ok(())
    }

    async fn outage(&self, outage: Outage) -> Result<Fault, Lack> {
        let way = Arc::clone(&self.proxy);
        match outage {
            Outage::Refused => {
                way.refuse().await;
                Ok(Fault::new(async move { way.heal().await }))
            }
            Outage::BlackHole => {
                way.black_hole().await;
                Ok(Fault::new(async move { way.heal().await }))
            }
            Outage::ReadOnly => {
                possible(Power::Outage, self.postgres.read_only().await)?;
                let postgres = self.postgres.clone();
                Ok(Fault::new(async move { postgres.read_write().await.unwrap() }))
            }
            Outage::Locked => {
                let tables = "lock table simba_session, simba_lease, simba_member in exclusive mode";
                Ok(self.hold(tables.to_owned()).await)
            }
            Outage::Part => Err(Lack::new(Power::Outage, "a server has no parts")),
        }
    }

    async fn lose_hints(&self) -> Result<(), Lack> {
        let mut operator = self.operator().await;
        let killed = operator
            .number(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity
                where application_name = 'simba hints'",
            )
            .await;
        assert!(killed > 0, "somebody listens");
        Ok(())
    }

    fn purge_interval(&self) -> Result<Duration, Lack> {
        Ok(PURGE_INTERVAL)
    }

    async fn census(&self) -> Result<Census, Lack> {
        let mut operator = self.operator().await;
        let mut count = async |table: &str| {
            usize::try_from(operator.number(&format!("select count(*) from {table}")).await).unwrap()
        };
        let (sessions, memberships) = (count("simba_session").await, count("simba_member").await);
        Ok(Census { sessions, memberships, tokens: count("simba_lease").await })
    }

    async fn calls(&self) -> Result<u64, Lack> {
        Ok(self.proxy.round_trips())
    }

    async fn connect_skewed(&self, skew: Skew) -> Result<Arc<dyn LeaseBackend>, Lack> {
        Ok(Arc::new(Remote::start(&self.proxied_url(), skew).await))
    }

    async fn misuses(&self) -> Result<Vec<Misuse>, Lack> {
        const TABLES: &str = include_str!("../../../sql/init-simba-postgresql.sql");
        let url = self.url();
        let mut found = vec![
            self.misuse(
                "a wrong password",
                &url.replace(APP_PASSWORD, "wr0ng"),
                ErrorKind::Unauthorized,
                "password",
            )
            .await,
            self.misuse("an unknown database", &self.url_of("nowhere"), ErrorKind::Config, "create it").await,
            self.misuse(
                "TLS that is not there",
                &format!("{url}?sslmode=require"),
                ErrorKind::Config,
                "sslmode",
            )
            .await,
            self.misuse_of_tables("no tables", "app", "select 1").await,
            self.misuse_of_tables("one table", "app", "create table simba_session (id integer)").await,
            self.misuse_of_tables(
                "a token of text",
                "app",
                &TABLES.replace("token      bigint", "token      text"),
            )
            .await,
            self.misuse_of_tables(
                "no column token",
                "app",
                &TABLES
                    .replace("token      bigint", "tok bigint")
                    .replace("simba_lease.token", "simba_lease.tok"),
            )
            .await,
            self.misuse_of_tables("no key", "app", &TABLES.replace(" primary key,", ",")).await,
            self.misuse_of_tables("tables of somebody else", "admin", TABLES).await,
        ];
        found[0].secret = Some("wr0ng".to_owned());
        found.extend(self.corrupt_rows().await);
        Ok(found)
    }

    async fn rival(&self, names: &[LeaseName], contest: Contest) -> Result<Box<dyn Rival>, Lack> {
        let _ = contest; // it does the same for both: what it is granted it releases
        let mut child = Child::start(&self.url()).await;
        let session = child.open(Duration::from_secs(3600)).await;
        child.contend(&session, names).await;
        Ok(Box::new(child))
    }
}
