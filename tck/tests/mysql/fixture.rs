//! A MySQL or MariaDB server of its own for each test, and the way to it.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use simba_backends::{BackendError, ErrorKind, LeaseBackend, LeaseName, SessionId, mysql::MySqlBackend};
use simba_servers::{ADMIN_PASSWORD, APP_PASSWORD, Flavour, Lacking, MySql, Options, Proxy};
use simba_tck::{
    Census, Clock, Contest, Fault, Fixture, Lack, Misuse, Outage, Power, Rival, Skew, async_trait,
};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, Row};

use crate::{
    FLAVOUR,
    rival::{Child, Remote},
};

/// Short, so that the purge can be waited for.
const PURGE_INTERVAL: Duration = Duration::from_secs(2);

pub(crate) const TABLES: &str = include_str!("../../../sql/init-simba-mysql.sql");

/// A server's settings.
pub(crate) trait Settings: Send + Sync + 'static {
    fn options() -> Options {
        Options::new()
    }
}

/// The server as usual.
pub(crate) struct Usual;

impl Settings for Usual {}

/// A server, and a proxy that breaks the way to it.
pub(crate) struct Server<S: Settings = Usual> {
    pub(crate) mysql: MySql,
    pub(crate) proxy: Arc<Proxy>,
    settings: PhantomData<S>,
}

impl<S: Settings> Server<S> {
    /// Without tables.
    pub(crate) async fn empty() -> Self {
        Self::with(S::options()).await
    }

    async fn with(options: Options) -> Self {
        let mysql = MySql::with(FLAVOUR, options).await;
        Self { proxy: Arc::new(Proxy::before(mysql.address()).await), mysql, settings: PhantomData }
    }

    /// Without the proxy.
    pub(crate) fn url(&self) -> String {
        self.mysql.url().to_owned()
    }

    /// Through the proxy.
    pub(crate) fn proxied_url(&self) -> String {
        self.proxy.url(&self.url())
    }

    pub(crate) async fn backend(&self) -> MySqlBackend {
        backend(&self.proxied_url()).await
    }

    /// A client that looks for dead sessions once, at its first call.
    pub(crate) async fn untidy(&self) -> Arc<dyn LeaseBackend> {
        let builder = MySqlBackend::builder(&self.proxied_url()).unwrap();
        Arc::new(builder.purge_interval(Duration::from_secs(3600)).connect().await.unwrap())
    }

    /// Somebody with a connection of their own, past everything.
    pub(crate) async fn operator(&self) -> Operator {
        Operator(MySqlConnection::connect(self.mysql.admin_url()).await.unwrap())
    }

    /// Makes a statement's locks last.
    pub(crate) async fn hold(&self, statement: String) -> Fault {
        let mut operator = self.operator().await;
        operator.run(&format!("start transaction; {statement}")).await;
        Fault::new(async move { operator.run("rollback").await })
    }

    /// Another database, and the URL by which a user of its own gets there who may do only that.
    async fn database(&self, rights: &str, script: &str) -> String {
        let name = format!("d{}", &SessionId::random().as_str()[..16]);
        let script = script.trim_end().trim_end_matches(';');
        let mut operator = self.operator().await;
        operator
            .run(&format!(
                "create database {name}; use {name}; {script};
                create user '{name}'@'%' identified by '{APP_PASSWORD}';
                grant {rights} on {name}.* to '{name}'@'%'"
            ))
            .await;
        let url = self.url();
        let (_, host) = url.rsplit_once('@').unwrap();
        let (host, _) = host.split_once('/').unwrap();
        format!("mysql://{name}:{APP_PASSWORD}@{host}/{name}")
    }

    async fn misuse_of_tables(&self, situation: &'static str, script: &str) -> Misuse {
        let url = self.database("all", script).await;
        misuse(situation, &url, ErrorKind::Schema, "sql/init-simba-mysql.sql").await
    }

    async fn misuse_of_rights(&self) -> Misuse {
        let url = self.database("select, insert, update", TABLES).await;
        misuse("no right to delete", &url, ErrorKind::Unauthorized, "grant").await
    }

    async fn misuse_of_tls(&self) -> Misuse {
        let without_tls = match FLAVOUR {
            Flavour::MySql => Self::with(S::options().set("tls_version", "")).await.mysql,
            Flavour::MariaDb => self.mysql.clone(),
        };
        let url = format!("{}?ssl-mode=REQUIRED", without_tls.url());
        misuse("TLS that is not there", &url, ErrorKind::Config, "ssl-mode").await
    }

    async fn corrupt_rows(&self) -> Vec<Misuse> {
        let mut operator = self.operator().await;
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
            found("a negative token", negative, ErrorKind::Corrupt, "\"negative\" in simba_lease"),
            found("a holder that is none", holder, ErrorKind::Corrupt, "\"holder\" in simba_lease"),
            found("a member that is none", member, ErrorKind::Corrupt, "\"crew\" in simba_member"),
        ]
    }
}

async fn misuse(situation: &'static str, url: &str, kind: ErrorKind, remedy: &'static str) -> Misuse {
    match MySqlBackend::connect(url).await {
        Ok(_) => panic!("{situation}: connected"),
        Err(error) => found(situation, error, kind, remedy),
    }
}

fn found(situation: &'static str, error: BackendError, kind: ErrorKind, remedy: &'static str) -> Misuse {
    Misuse { situation, error, kind, remedy, secret: Some(APP_PASSWORD.to_owned()) }
}

/// A connection that knows nothing of Simba.
pub(crate) struct Operator(pub(crate) MySqlConnection);

impl Operator {
    pub(crate) async fn run(&mut self, statements: &str) {
        let done = sqlx::raw_sql(AssertSqlSafe(statements.to_owned())).execute(&mut self.0).await;
        done.unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    pub(crate) async fn number(&mut self, query: &str) -> i64 {
        let asked = sqlx::raw_sql(AssertSqlSafe(query.to_owned())).fetch_one(&mut self.0).await;
        asked.and_then(|row| row.try_get_unchecked(0)).unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    /// Asks until there is a number greater than zero.
    pub(crate) async fn awaited(&mut self, query: &str) -> i64 {
        for _ in 0..600 {
            let number = self.number(query).await;
            if number > 0 {
                return number;
            }
            // The server looks anew only for who has not asked for 0.1 s.
            tokio::time::sleep(Duration::from_millis(120)).await;
        }
        panic!("nothing within a minute: {query}")
    }
}

/// A client of the server, in whichever process.
pub(crate) async fn connect(url: &str) -> Arc<dyn LeaseBackend> {
    Arc::new(backend(url).await)
}

pub(crate) async fn backend(url: &str) -> MySqlBackend {
    let builder = MySqlBackend::builder(url).unwrap().purge_interval(PURGE_INTERVAL);
    builder.connect().await.unwrap_or_else(|error| panic!("{error:?}"))
}

fn possible(power: Power, done: Lacking) -> Result<(), Lack> {
    done.map_err(|reason| Lack::new(power, reason))
}

impl<S: Settings> fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.mysql.address()).finish()
    }
}

#[async_trait]
impl<S: Settings> Fixture for Server<S> {
    fn clock() -> Clock {
        Clock::Real
    }

    async fn fresh() -> Self {
        let server = Self::empty().await;
        let builder = MySqlBackend::builder(&server.url()).unwrap().create_tables();
        builder.connect().await.unwrap_or_else(|error| panic!("{error:?}"));
        server
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
        possible(Power::Restart, self.mysql.kill().await)?;
        possible(Power::Restart, self.mysql.start_again().await)
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
                possible(Power::Outage, self.mysql.read_only().await)?;
                let mysql = self.mysql.clone();
                Ok(Fault::new(async move { mysql.read_write().await.unwrap() }))
            }
            Outage::Locked => {
                let mut operator = self.operator().await;
                operator.run("lock tables simba_session read, simba_lease read, simba_member read").await;
                Ok(Fault::new(async move { operator.run("unlock tables").await }))
            }
            Outage::Part => Err(Lack::new(Power::Outage, "a server has no parts")),
        }
    }

    async fn lose_hints(&self) -> Result<(), Lack> {
        let mut operator = self.operator().await;
        operator.run("lock tables simba_lease write").await;
        let looking = "from information_schema.processlist
            where state = 'Waiting for table metadata lock' and info like '%where s.session_id is null%'";
        let id = operator.awaited(&format!("select coalesce(min(id), 0) {looking}")).await;
        operator.run(&format!("kill {id}; unlock tables")).await;
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
        let url = self.url();
        let (before, _) = url.rsplit_once('/').unwrap();
        let wrong = url.replace(APP_PASSWORD, "wr0ng");
        // To anybody else it would not say that there is none.
        let nowhere = self.mysql.admin_url().replace("/app", "/nowhere");
        let mut found = vec![
            misuse("a wrong password", &wrong, ErrorKind::Unauthorized, "password").await,
            misuse("a database of others", &format!("{before}/mysql"), ErrorKind::Unauthorized, "grant")
                .await,
            misuse("no database", before, ErrorKind::Config, "name one in the URL").await,
            misuse("an unknown database", &nowhere, ErrorKind::Config, "create it").await,
            self.misuse_of_tables("no tables", "do 0").await,
            self.misuse_of_tables("one table", "create table simba_session (id integer)").await,
            self.misuse_of_tables("a token of text", &TABLES.replace("token      bigint", "token      text"))
                .await,
            self.misuse_of_tables("no column token", &TABLES.replace("token      bigint", "tok bigint"))
                .await,
            self.misuse_of_tables("no key", &TABLES.replace(" primary key comment", " comment")).await,
            self.misuse_of_tables("names without case", &TABLES.replace("ascii_bin", "ascii_general_ci"))
                .await,
            self.misuse_of_tables("names too short", &TABLES.replace("varchar(128)", "varchar(64)")).await,
            self.misuse_of_tables("no transactions", &TABLES.replace("innodb", "myisam")).await,
            self.misuse_of_rights().await,
            self.misuse_of_tls().await,
        ];
        found[0].secret = Some("wr0ng".to_owned());
        found[3].secret = Some(ADMIN_PASSWORD.to_owned());
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
