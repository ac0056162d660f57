//! The start of one process.

use std::net::SocketAddr;

use super::configuration::{self, Setting};
use crate::{
    ADMIN_PASSWORD, Options,
    folder::Folder,
    instance::Instance,
    kit::Kit,
    options::Durability,
    port::Port,
    server::{Farewell, Server},
};

const MAIN: &str = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

/// A folder for a server.
pub(super) fn folder(durability: Durability) -> Folder {
    Kit::ZOOKEEPER.server();
    let folder = Folder::new(durability);
    folder.make_data();
    folder
}

/// Starts a server in its folder.
pub(super) async fn start(folder: Folder, port: Port, options: &Options, special: Vec<Setting>) -> Instance {
    let address = port.address();
    let (url, admin_url) = urls(&[address]);
    let configuration = configuration::of(options, special, &folder.data(), port.number());
    let file = folder.write("zoo.cfg", configuration.text.as_bytes()).display().to_string();
    let arguments = configuration.arguments.into_iter().chain([MAIN.into(), file]);
    let server = Server::new(Kit::ZOOKEEPER, Farewell::Kill, folder, port, admin_url.clone())
        .with_arguments(arguments);
    server.start().await;
    Instance { address, url, admin_url, server: Some(server) }
}

/// Everybody's and the administrator's.
pub(super) fn urls(addresses: &[SocketAddr]) -> (String, String) {
    let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    let addresses = addresses.join(",");
    let admin_url = format!("zookeeper://admin:{ADMIN_PASSWORD}@{addresses}");
    (format!("zookeeper://{addresses}"), admin_url)
}
