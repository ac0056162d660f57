//! The start of one process.

use std::net::SocketAddr;

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

const CONFIGURATION: &str = "redis.conf";

/// A folder for a server.
pub(super) fn folder(durability: Durability) -> Folder {
    Kit::REDIS.server();
    let folder = Folder::new(durability);
    folder.make_data();
    folder
}

/// Starts a server in its folder.
pub(super) async fn start(folder: Folder, port: Port, configuration: &str) -> Instance {
    configure(&folder, port.number(), configuration);
    let server = server(folder, port, &[]);
    server.own().expect("it is ours").start().await;
    server
}

/// Starts a sentinel, in a folder where it keeps what it has found out.
pub(super) async fn start_sentinel(port: Port, configuration: &str) -> Instance {
    let folder = folder(Durability::Process);
    configure(&folder, port.number(), configuration);
    let sentinel = server(folder, port, &["--sentinel"]);
    sentinel.own().expect("it is ours").start().await;
    sentinel
}

/// A server that is not started yet.
pub(super) fn server(folder: Folder, port: Port, arguments: &[&str]) -> Instance {
    let address = port.address();
    let (url, admin_url) = urls("redis", &[address]);
    let file = folder.data().join(CONFIGURATION).display().to_string();
    let arguments = [file].into_iter().chain(arguments.iter().map(|one| (*one).to_owned()));
    let server =
        Server::new(Kit::REDIS, Farewell::Kill, folder, port, admin_url.clone()).with_arguments(arguments);
    Instance { address, url, admin_url, server: Some(server) }
}

/// Says how a server is to be when it is started the next time.
pub(super) fn configure(folder: &Folder, port: u16, configuration: &str) {
    let text = format!("port {port}\ndir \"{}\"\n{configuration}", folder.data().display());
    write_data(folder, CONFIGURATION, &text);
}

/// A file that a server can change, as it does when sentinels make it another's replica.
pub(super) fn write_data(folder: &Folder, name: &str, text: &str) {
    let file = folder.write(&format!("data/{name}"), text.as_bytes());
    kit::hand_over(&file);
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
