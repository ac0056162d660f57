//! Three servers, started at once.

use std::{fmt::Write as _, net::Ipv4Addr, sync::Arc};

use futures_util::future::join_all;

use super::{links, links::Links};
use crate::{
    Options, Proxy,
    folder::Folder,
    port::Port,
    zookeeper::{
        ZooKeeper,
        configuration::{Setting, setting},
        launch,
    },
};

pub(super) const SERVERS: usize = 3;

/// What goes through proxies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    /// What clients say.
    Clients,
    /// What servers say to one another too.
    All,
}

/// What is known of a server before it starts.
pub(super) struct Seat {
    folder: Folder,
    port: Port,
    proxy: Option<Arc<Proxy>>,
    /// Where the others follow it, and where they vote.
    pub(super) peers: [Port; 2],
}

pub(super) async fn start(options: &Options, way: Way) -> (Vec<ZooKeeper>, Option<Links>) {
    let mut seats = Vec::new();
    for _ in 0..SERVERS {
        seats.push(Seat::new(options, way).await);
    }
    let links = match way {
        Way::Direct | Way::Clients => None,
        Way::All => Some(Links::between(&seats)),
    };
    let special: Vec<_> = (0..SERVERS).map(|index| special(index, &seats, way)).collect();
    let starts = seats.into_iter().zip(special).map(|(seat, special)| seat.start(options, special));
    (join_all(starts).await, links)
}

impl Seat {
    async fn new(options: &Options, way: Way) -> Self {
        let folder = launch::folder(options.durability);
        let port = Port::new();
        let proxy = match way {
            Way::Direct => None,
            Way::Clients | Way::All => Some(Arc::new(Proxy::before(port.address()).await)),
        };
        Self { folder, port, proxy, peers: [Port::new(), Port::new()] }
    }

    async fn start(self, options: &Options, special: Vec<Setting>) -> ZooKeeper {
        let instance = launch::server(self.folder, self.port, options, special);
        instance.own().expect("it is ours").start().await;
        ZooKeeper { proxy: self.proxy, _ports: self.peers.into(), ..ZooKeeper::of(instance) }
    }
}

/// What makes a server one of several: its number, and where the others are.
fn special(own: usize, seats: &[Seat], way: Way) -> Vec<Setting> {
    let folder = &seats[own].folder;
    folder.write("data/myid", (own + 1).to_string().as_bytes());
    let hosts = folder.write("hosts", hosts(own, way).as_bytes()).display().to_string();
    let servers = seats.iter().enumerate().map(|(index, seat)| {
        let [following, voting] = seat.peers.each_ref().map(Port::number);
        setting(&format!("server.{}", index + 1), &format!("{}:{following}:{voting}", name(index)))
    });
    servers.chain([setting("jdk.net.hosts.file", &hosts)]).collect()
}

/// Where one server looks for each.
fn hosts(own: usize, way: Way) -> String {
    let mut text = String::new();
    for index in 0..SERVERS {
        let address = match way {
            Way::All if index != own => links::address(own, index),
            Way::Direct | Way::Clients | Way::All => Ipv4Addr::LOCALHOST.into(),
        };
        writeln!(text, "{address} {}", name(index)).expect("memory takes what is written");
    }
    text
}

fn name(index: usize) -> String {
    format!("server-{}", index + 1)
}
