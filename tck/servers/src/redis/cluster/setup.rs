//! A cluster that is one from the start: each server finds all others in its `nodes.conf`.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use futures_util::future::join_all;

use super::ClusterNode;
use crate::{
    Offset, Options, Proxy,
    folder::Folder,
    port::Port,
    redis::{
        configuration::{self, NODE_TIMEOUT, Role},
        launch,
        way::Way,
    },
};

pub(super) const PRIMARIES: usize = 3;

const TIMEOUT: &str = "cluster-node-timeout";

/// A bit more than a primary takes no writes for.
const DELAY: Duration = Duration::from_millis(2100);

/// Of each primary.
const SLOTS: [&str; PRIMARIES] = ["0-5460", "5461-10922", "10923-16383"];

/// What is known of a server before it starts.
struct Seat {
    id: String,
    folder: Folder,
    port: Port,
    bus: Port,
    proxy: Option<Arc<Proxy>>,
}

/// Starts the primaries and as many replicas: nobody misses anybody until [`settle`] is called.
///
/// A primary takes no writes for the first two seconds (`CLUSTER_WRITABLE_DELAY`), by its wall clock, in case it
/// was replaced while it was away. Here these pass between two looks at it.
pub(super) async fn start(options: &Options, way: Way) -> Vec<ClusterNode> {
    let mut seats = Vec::new();
    for _ in 0..2 * PRIMARIES {
        seats.push(Seat::new(options, way).await);
    }
    for (index, seat) in seats.iter().enumerate() {
        launch::write_data(&seat.folder, "nodes.conf", &nodes_as_seen_by(index, &seats));
    }
    // A replica that does not find its primary tries again a second later.
    let replicas = seats.split_off(PRIMARIES);
    let mut nodes = join_all(seats.into_iter().map(|seat| seat.start(options))).await;
    nodes.extend(join_all(replicas.into_iter().map(|seat| seat.start(options))).await);
    for node in &nodes {
        node.step_clock(Offset::None).expect("it is ours");
    }
    nodes
}

/// Makes them miss one another after the usual time.
pub(super) async fn settle(nodes: &[ClusterNode], options: &Options) {
    let set = options.settings.iter().rfind(|(name, _)| name == TIMEOUT);
    let timeout = set.map_or(NODE_TIMEOUT, |(_, value)| value);
    for node in nodes {
        node.order(&["CONFIG", "SET", TIMEOUT, timeout]).await;
        let folder = node.instance.own().expect("it is ours").folder();
        launch::configure(folder, node.address().port(), &node.configuration(options));
    }
}

impl Seat {
    async fn new(options: &Options, way: Way) -> Self {
        let folder = launch::folder(options.durability);
        let (port, bus) = (Port::new(), Port::new());
        let proxy = way.proxy_before(port.address()).await;
        Self { id: launch::new_id(), folder, port, bus, proxy }
    }

    fn announced(&self) -> u16 {
        self.proxy.as_ref().map_or(self.port.number(), |proxy| proxy.address().port())
    }

    async fn start(self, options: &Options) -> ClusterNode {
        let calm = options.clone().set(TIMEOUT, "60000");
        let port = self.port.number();
        let node = ClusterNode {
            id: self.id.into(),
            instance: Arc::new(launch::server(self.folder, self.port, &[])),
            proxy: self.proxy,
            bus: Arc::new(self.bus),
        };
        let server = node.instance.own().expect("it is ours");
        launch::configure(server.folder(), port, &node.configuration(&calm));
        node.step_clock(Offset::Behind(DELAY)).expect("it is ours");
        server.start().await;
        node
    }
}

impl ClusterNode {
    fn configuration(&self, options: &Options) -> String {
        let role = Role::InCluster { announced: self.announced().port(), bus: self.bus.number() };
        configuration::of(options, &role)
    }
}

fn nodes_as_seen_by(viewer: usize, seats: &[Seat]) -> String {
    let mut text = String::new();
    for (index, seat) in seats.iter().enumerate() {
        let own = index % PRIMARIES;
        let (role, primary, slots) = if index < PRIMARIES {
            ("master", "-", SLOTS[own])
        } else {
            ("slave", seats[own].id.as_str(), "")
        };
        let (myself, link) = if index == viewer { ("myself,", "connected") } else { ("", "disconnected") };
        let (id, announced, bus, epoch) = (&seat.id, seat.announced(), seat.bus.number(), own + 1);
        let line =
            format!("{id} 127.0.0.1:{announced}@{bus} {myself}{role} {primary} 0 0 {epoch} {link} {slots}");
        writeln!(text, "{}", line.trim_end()).expect("memory takes what is written");
    }
    writeln!(text, "vars currentEpoch {PRIMARIES} lastVoteEpoch 0").expect("memory takes what is written");
    text
}
