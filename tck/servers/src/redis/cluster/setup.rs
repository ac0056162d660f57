//! A cluster that is one from the start: each server finds all others in its `nodes.conf`.

use std::{fmt::Write as _, sync::Arc};

use futures_util::future::join_all;

use super::node::{ClusterNode, Way};
use crate::{
    Options, Proxy,
    folder::Folder,
    port::Port,
    redis::{
        configuration::{self, Role},
        launch,
    },
};

pub(super) const PRIMARIES: usize = 3;

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

/// Starts the primaries and as many replicas.
pub(super) async fn start(options: &Options, way: Way) -> Vec<ClusterNode> {
    let mut seats = Vec::new();
    for _ in 0..2 * PRIMARIES {
        seats.push(Seat::new(options, way).await);
    }
    for (index, seat) in seats.iter().enumerate() {
        launch::write_data(&seat.folder, "nodes.conf", &nodes_as_seen_by(index, &seats));
    }
    join_all(seats.into_iter().map(|seat| seat.start(options))).await
}

impl Seat {
    async fn new(options: &Options, way: Way) -> Self {
        let folder = launch::folder(options.durability);
        let (port, bus) = (Port::new(), Port::new());
        let proxy = match way {
            Way::Direct => None,
            Way::Proxied => Some(Arc::new(Proxy::before(port.address()).await)),
        };
        Self { id: launch::new_id(), folder, port, bus, proxy }
    }

    fn announced(&self) -> u16 {
        self.proxy.as_ref().map_or(self.port.number(), |proxy| proxy.address().port())
    }

    async fn start(self, options: &Options) -> ClusterNode {
        let role = Role::InCluster { announced: self.announced(), bus: self.bus.number() };
        let configuration = configuration::of(options, &role);
        let instance = launch::start(self.folder, self.port, &configuration).await;
        ClusterNode {
            id: self.id.into(),
            instance: Arc::new(instance),
            proxy: self.proxy,
            _bus: Arc::new(self.bus),
        }
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
