//! Servers that take connections and say nothing.

use std::time::Duration;

use futures_util::future::join_all;
use simba_backends::{ErrorKind, LeaseBackend, Metadata, zookeeper::ZooKeeperBackend};
use simba_servers::Proxy;
use simba_tck::Fixture;
use tokio::net::TcpListener;

use crate::{
    Storage,
    client::{LONG, at_once, group},
};

#[tokio::test]
async fn a_silent_server_leaves_time_for_the_others_however_long_the_lease() {
    let server = Storage::fresh().await;
    // What the system accepts nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("zookeeper://{},{}", silent.local_addr().unwrap(), server.hosts());
    let builder = ZooKeeperBackend::builder(&url).unwrap().root("/silence");
    let backend = builder.connection_timeout(Duration::from_secs(4)).connect().await.unwrap();
    // Which server is asked first is left to chance.
    let metadata = Metadata::default();
    let opened = join_all((0..10).map(|_| backend.open_session(LONG, &metadata))).await;
    for opened in opened {
        opened.unwrap_or_else(|error| panic!("{error:?}"));
    }
}

#[tokio::test]
async fn without_a_session_a_call_takes_no_longer_than_a_call_may() {
    let server = Storage::fresh().await;
    let proxy = Proxy::before(server.place.zookeeper.address()).await;
    let builder = ZooKeeperBackend::builder(&format!("zookeeper://{}/x", proxy.address())).unwrap();
    let limit = Duration::from_millis(300);
    let backend = builder.call_timeout(limit).connect().await.unwrap();
    proxy.black_hole().await;
    let error = at_once(backend.members(&group("g"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
}
