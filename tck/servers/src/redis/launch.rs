//! The start of one process.

use std::{net::SocketAddr, path::PathBuf};

use crate::{
    ADMIN_PASSWORD, APP_PASSWORD,
    folder::Folder,
    instance::Instance,
    kit,
    kit::Kit,
    options::Durability,
    port::Port,
    server::{Farewell, Server},
};

/// A folder for a server.
pub(super) fn folder(durability: Durability) -> Folder {
    Kit::REDIS.server();
    let folder = Folder::new(durability);
    folder.make_data();
    folder
}

/// Starts a server in its folder.
pub(super) async fn start(folder: Folder, port: Port, configuration: &str) -> Instance {
    start_with(folder, port, configuration, &[]).await
}

/// Starts a sentinel, in a folder where it keeps what it has found out.
pub(super) async fn start_sentinel(port: Port, configuration: &str) -> Instance {
    start_with(folder(Durability::Process), port, configuration, &["--sentinel"]).await
}

async fn start_with(folder: Folder, port: Port, configuration: &str, arguments: &[&str]) -> Instance {
    let address = port.address();
    let text = format!("port {}\ndir \"{}\"\n{configuration}", port.number(), folder.data().display());
    let file = write_data(&folder, "redis.conf", &text).display().to_string();
    let (url, admin_url) = urls("redis", &[address]);
    let arguments = [file].into_iter().chain(arguments.iter().map(|one| (*one).to_owned()));
    let server =
        Server::new(Kit::REDIS, Farewell::Kill, folder, port, admin_url.clone()).with_arguments(arguments);
    server.start().await;
    Instance { address, url, admin_url, server: Some(server) }
}

/// A file that a server can change, as it does when sentinels make it another's replica.
pub(super) fn write_data(folder: &Folder, name: &str, text: &str) -> PathBuf {
    let file = folder.write(&format!("data/{name}"), text.as_bytes());
    kit::hand_over(&file);
    file
}

/// A name such as servers give one another.
pub(super) fn new_id() -> String {
    let random = || uuid::Uuid::new_v4().simple().to_string();
    format!("{}{}", random(), &random()[..8])
}

/// The user's and the administrator's.
pub(super) fn urls(scheme: &str, addresses: &[SocketAddr]) -> (String, String) {
    let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    let addresses = addresses.join(",");
    let url = |user: &str, password: &str| format!("{scheme}://{user}:{password}@{addresses}");
    (url("app", APP_PASSWORD), url("admin", ADMIN_PASSWORD))
}
