//! Three servers, started at once.

use std::sync::Arc;

use futures_util::future::join_all;

use super::links::Links;
use crate::{
    Options, Proxy,
    port::Port,
    zookeeper::{
        ZooKeeper,
        configuration::{Setting, setting},
        launch,
    },
};

const SERVERS: usize = 3;

/// What goes through proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    /// What clients say.
    Clients,
    /// What servers say to one another too.
    All,
}

/// Where the others find a server.
pub(super) struct Peer {
    /// To follow it.
    pub(super) following: Port,
    /// To vote.
    pub(super) voting: Port,
}

pub(super) async fn start(options: &Options, way: Way) -> (Vec<ZooKeeper>, Option<Links>) {
    let peers: Vec<Peer> =
        (0..SERVERS).map(|_| Peer { following: Port::new(), voting: Port::new() }).collect();
    let links = match way {
        Way::Direct | Way::Clients => None,
        Way::All => Some(Links::between(&peers)),
    };
    let known: Vec<_> = (0..SERVERS).map(|own| known_to(own, &peers, links.as_ref())).collect();
    let starts = peers.into_iter().zip(known).enumerate().map(async |(own, (peer, known))| {
        let folder = launch::folder(options.durability);
        folder.write("data/myid", (own + 1).to_string().as_bytes());
        let port = Port::new();
        let proxy = match way {
            Way::Direct => None,
            Way::Clients | Way::All => Some(Arc::new(Proxy::before(port.address()).await)),
        };
        let instance = launch::start(folder, port, options, known).await;
        ZooKeeper { proxy, _ports: [peer.following, peer.voting].into(), ..ZooKeeper::of(instance) }
    });
    (join_all(starts).await, links)
}

/// Where one server finds each, itself too.
fn known_to(own: usize, peers: &[Peer], links: Option<&Links>) -> Vec<Setting> {
    let addresses = peers.iter().enumerate().map(|(index, peer)| match links {
        Some(links) if index != own => links.addresses(own, index),
        Some(_) | None => [peer.following.address(), peer.voting.address()],
    });
    let settings = addresses.enumerate().map(|(index, [following, voting])| {
        setting(&format!("server.{}", index + 1), &format!("{following}:{}", voting.port()))
    });
    settings.collect()
}
