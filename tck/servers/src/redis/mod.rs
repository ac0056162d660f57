//! Redis: a server alone, with replicas, in a cluster, under sentinels.

mod administered;
mod cluster;
mod command;
mod configuration;
mod database;
mod launch;
mod replica;
mod sentinels;
mod way;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

pub use self::cluster::{ClusterNode, Migration, RedisCluster};
pub(crate) use self::command::{BOUND, command};
pub use self::sentinels::{Sentinel, Sentinels};
use self::{
    administered::{administered, replicated},
    configuration::Role,
    database::Database,
    way::Way,
};
use crate::{
    APP_PASSWORD, Lacking, Options, Proxy, external,
    instance::{Instance, verbs},
    kit::Kit,
    port::Port,
};

/// A Redis server with an append-only file.
///
/// The user of [`url`](Self::url) reads and writes what begins with `simba:`, runs scripts and subscribes there,
/// and may do nothing that is dangerous in Redis' own words (`KEYS`, `FLUSHALL`, `CONFIG`).
#[derive(Clone, Debug)]
pub struct Redis {
    instance: Arc<Instance>,
    /// For its replicas too.
    options: Options,
    /// The way to the server that it replicates.
    link: Option<Arc<Proxy>>,
    /// The way of everybody to it, where it has one that is known.
    proxy: Option<Arc<Proxy>>,
    /// Ours for as long, in a server that runs already.
    _database: Option<Arc<Database>>,
}

verbs!(Redis);
administered!(Redis);
replicated!(Redis);

impl Redis {
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

    /// One with settings of its own. A server that runs already has its own; of that one, each call gives
    /// another logical database, and channels are the same in all of them.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute; of a server that runs already, if all its
    /// databases are in use for so long.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with(options: Options) -> Self {
        if let Some(url) = external::url_of(Kit::REDIS) {
            let (instance, database) = database::of_its_own(&url).await;
            let database = Some(Arc::new(database));
            let instance = Arc::new(instance);
            return Self { instance, options, link: None, proxy: None, _database: database };
        }
        Self::of_ours(Way::Direct, options, Role::Alone).await
    }

    /// One whose [`url`](Self::url) and [`address`](Self::address) take TLS only. The administrator's URL is
    /// of another port, without TLS. Never a server that runs already.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with_tls(options: Options) -> Self {
        let folder = launch::folder(options.durability);
        let (plain, tls) = (Port::new(), Port::new());
        let address = tls.address();
        let configuration = configuration::of(&options, &Role::WithTls { port: tls.number() });
        let instance = launch::start(folder, plain, &configuration).await;
        let url = format!("rediss://app:{APP_PASSWORD}@{address}");
        let instance = Instance { address, url, ..instance };
        Self { instance: Arc::new(instance), options, link: None, proxy: None, _database: None }
    }

    /// The file with the certificate of the authority that has signed the one of [`with_tls`](Self::with_tls):
    /// for `localhost` and 127.0.0.1.
    pub fn authority() -> PathBuf {
        Kit::REDIS.file("ca.pem")
    }

    /// Makes it refuse every write from now on (`READONLY`), also on connections that are there, as a server
    /// does that was demoted: it becomes a replica of one that is not there.
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
        // Nobody listens there who is not root.
        self.order(&["REPLICAOF", "127.0.0.1", "1"]).await;
        Ok(())
    }

    /// Ends [`read_only`](Self::read_only), and makes a replica a server of its own.
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
        self.order(&["REPLICAOF", "NO", "ONE"]).await;
        Ok(())
    }

    /// The way of clients, sentinels and replicas to one of [`Sentinels`](crate::Sentinels) behind proxies.
    ///
    /// # Errors
    /// Why it has none.
    pub fn proxy(&self) -> Lacking<Arc<Proxy>> {
        self.proxy.clone().ok_or("this server was not started behind a proxy")
    }

    /// One that never is a server that runs already.
    async fn of_ours(way: Way, options: Options, role: Role) -> Self {
        let folder = launch::folder(options.durability);
        let port = Port::new();
        let proxy = way.proxy_before(port.address()).await;
        let mut configuration = configuration::of(&options, &role);
        if let Some(proxy) = &proxy {
            configuration.push_str(&format!("replica-announce-port {}\n", proxy.address().port()));
        }
        let instance = launch::start(folder, port, &configuration).await;
        Self { instance: Arc::new(instance), options, link: None, proxy, _database: None }
    }

    /// Where sentinels and replicas find it.
    fn announced(&self) -> SocketAddr {
        self.proxy.as_ref().map_or(self.address(), |proxy| proxy.address())
    }
}
