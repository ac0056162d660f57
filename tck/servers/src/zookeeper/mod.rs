//! ZooKeeper: a server alone, and an ensemble.

mod administered;
mod configuration;
mod ensemble;
mod launch;
mod mode;
mod root;
mod word;

use std::{path::PathBuf, sync::Arc};

use tokio::net::TcpStream;

use self::configuration::setting;
pub use self::{
    ensemble::{Cut, ZooKeeperEnsemble},
    mode::ZooKeeperMode,
};
use crate::{
    ADMIN_PASSWORD, APP_PASSWORD, Lacking, Options, Proxy, external,
    instance::{Instance, verbs},
    kit::Kit,
    port::Port,
    wait::until,
};

/// A ZooKeeper server: alone, or one of a [`ZooKeeperEnsemble`].
///
/// Sessions last from one to ten seconds (`tickTime` is 500 ms). Nobody needs a password: the [`url`](Self::url)
/// names no user, and its root is the server's own, but for a server that runs already, where it is one that did
/// not exist. The [administrator](Self::admin_url) is the super user, whom no list of rights keeps from anything.
/// It starts in half a second.
///
/// [`Options`] are lines of `zoo.cfg`. Those that begin with `java.`, `jute.` or `znode.` are properties
/// of the virtual machine; all others are ZooKeeper's own without their `zookeeper.` in front.
#[derive(Clone, Debug)]
pub struct ZooKeeper {
    instance: Arc<Instance>,
    /// The way of clients to it, where it has one that is known.
    proxy: Option<Arc<Proxy>>,
    /// Where the others of an ensemble find it.
    _ports: Arc<[Port]>,
}

verbs!(ZooKeeper);

impl ZooKeeper {
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

    /// One with settings of its own, say `tickTime` or `maxSessionTimeout`. A server that runs already has its
    /// own; of that one, each call gives another root, which stays there.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left, but perhaps the root in a server that runs already.
    pub async fn with(options: Options) -> Self {
        if let Some(url) = external::url_of(Kit::ZOOKEEPER) {
            return Self::of(root::of_its_own(&url).await);
        }
        let folder = launch::folder(options.durability);
        Self::of(launch::start(folder, Port::new(), &options, Vec::new()).await)
    }

    /// One whose [`url`](Self::url) and [`address`](Self::address) take TLS 1.2 only, which the URL does not say. The administrator's URL is of
    /// another port, without TLS. Never a server that runs already.
    ///
    /// It wants no certificate of its clients, unless `ssl.clientAuth` is set.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with_tls(options: Options) -> Self {
        let port = Port::new();
        let file = |name: &str| Kit::ZOOKEEPER.file(name).display().to_string();
        let special = vec![
            setting("serverCnxnFactory", "org.apache.zookeeper.server.NettyServerCnxnFactory"),
            setting("secureClientPort", &port.number().to_string()),
            setting("secureClientPortAddress", "127.0.0.1"),
            setting("ssl.keyStore.location", &file("both.pem")),
            setting("ssl.trustStore.location", &file("ca.pem")),
            setting("ssl.clientAuth", "none"),
        ];
        let folder = launch::folder(options.durability);
        let instance = launch::start(folder, Port::new(), &options, special).await;
        let address = port.address();
        // It opens the administrator's port first.
        until("TLS is spoken", || async move { TcpStream::connect(address).await.ok() }).await;
        let instance = Instance { address, url: format!("zookeeper://{address}"), ..instance };
        Self { _ports: [port].into(), ..Self::of(instance) }
    }

    /// The file with the certificate of the authority that has signed the one of [`with_tls`](Self::with_tls):
    /// for `localhost` and 127.0.0.1.
    pub fn authority() -> PathBuf {
        Kit::ZOOKEEPER.file("ca.pem")
    }

    /// One that knows the user of its [`url`](Self::url) by SASL (`DIGEST-MD5`) too; who says nothing is let in,
    /// unless `sessionRequireClientSASLAuth` is set. Never a server that runs already.
    ///
    /// # Panics
    /// If it is not there, or does not answer within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with_sasl(options: Options) -> Self {
        let users = format!(
            "Server {{
                org.apache.zookeeper.server.auth.DigestLoginModule required
                user_app=\"{APP_PASSWORD}\" user_super=\"{ADMIN_PASSWORD}\";
            }};"
        );
        let folder = launch::folder(options.durability);
        let users = folder.write("users", users.as_bytes()).display().to_string();
        let special = vec![
            setting("authProvider.1", "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"),
            setting("java.security.auth.login.config", &users),
        ];
        let instance = launch::start(folder, Port::new(), &options, special).await;
        let url = format!("zookeeper://app:{APP_PASSWORD}@{}", instance.address);
        Self::of(Instance { url, ..instance })
    }

    /// The way of clients to one of an ensemble [behind proxies](ZooKeeperEnsemble::behind_proxies).
    ///
    /// # Errors
    /// Why it has none.
    pub fn proxy(&self) -> Lacking<Arc<Proxy>> {
        self.proxy.clone().ok_or("this server was not started behind a proxy")
    }

    fn of(instance: Instance) -> Self {
        Self { instance: Arc::new(instance), proxy: None, _ports: [].into() }
    }
}

/// Whether the server with that URL serves clients.
pub(crate) async fn serves(url: &str) -> bool {
    ZooKeeperMode::of(external::address_of(url)).await.is_some()
}
