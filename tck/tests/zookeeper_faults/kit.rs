//! Servers, and sessions on them.

use std::{sync::Arc, time::Duration};

use simba_backends::{
    Acquired, Acquisition, BackendError, KeepAlive, LeaseBackend, LeaseName, Token,
    zookeeper::ZooKeeperBackend,
};
use simba_servers::{Proxy, ZooKeeper};
use tokio::time::sleep;

use crate::peer::{Peer, eventually};

/// How often those look who wait.
pub(crate) const GLANCE: Duration = Duration::from_millis(5);

pub(crate) async fn backend(url: &str) -> Arc<dyn LeaseBackend> {
    Arc::new(ZooKeeperBackend::connect(url).await.unwrap())
}

pub(crate) async fn open(url: &str, lease: Duration) -> Peer {
    Peer::open(backend(url).await, lease).await
}

/// A server, and a way to it that can be broken.
pub(crate) async fn behind_proxy() -> (ZooKeeper, Proxy) {
    let server = ZooKeeper::start().await;
    let proxy = Proxy::before(server.address()).await;
    (server, proxy)
}

/// The number by which ZooKeeper knows a session.
pub(crate) fn number(peer: &Peer) -> i64 {
    u64::from_str_radix(peer.session.as_str(), 16).unwrap().cast_signed()
}

/// The leases whose nodes are the session's, as the server has them.
pub(crate) async fn nodes(server: &ZooKeeper, peer: &Peer) -> Vec<LeaseName> {
    let nodes = server.ephemerals().await.remove(&number(peer)).unwrap_or_default();
    let mut names: Vec<LeaseName> = nodes
        .iter()
        .filter_map(|path| path.split_once("/leases/"))
        .map(|(_, name)| name.parse().unwrap())
        .collect();
    names.sort();
    names
}

/// What the next keep-alive that is answered says is held.
pub(crate) async fn owned(peer: &Peer) -> Vec<(LeaseName, Token)> {
    let mut found = None;
    eventually("a keep-alive is answered", async || {
        match peer.backend.keep_alive(&peer.session, peer.lease).await {
            Ok(KeepAlive::Live { owned, .. }) => found = Some(owned),
            Ok(KeepAlive::Expired) => panic!("{} has expired", peer.session),
            Err(_) => {}
        }
        found.is_some()
    })
    .await;
    found.unwrap()
}

/// The answer to an attempt at one name; an error where there is none.
pub(crate) async fn attempt(peer: &Peer, name: &LeaseName) -> Result<Option<Acquisition>, BackendError> {
    match peer.backend.acquire(&peer.session, std::slice::from_ref(name)).await? {
        Acquired::Answers(mut answers) => Ok(answers.pop().map(|(_, answer)| answer)),
        Acquired::Expired => Ok(None),
    }
}

/// Tries until the name is granted.
pub(crate) async fn granted(peer: &Peer, name: &LeaseName) -> Token {
    let mut found = None;
    eventually("the name is granted", async || {
        if let Ok(Some(Acquisition::Granted { token, .. })) = attempt(peer, name).await {
            found = Some(token);
        }
        found.is_some()
    })
    .await;
    found.unwrap()
}

/// Looks often until it is so, for what passes quickly; gives up after that time.
pub(crate) async fn soon(limit: Duration, mut is_so: impl AsyncFnMut() -> bool) -> bool {
    for _ in 0..limit.as_millis() / GLANCE.as_millis() {
        if is_so().await {
            return true;
        }
        sleep(GLANCE).await;
    }
    false
}
