//! What the ensemble makes of the lease that is asked for, and sessions that come and go.

use std::time::Duration;

use simba_backends::{ErrorKind, KeepAlive, Metadata};
use simba_servers::{Options, ZooKeeper};

use crate::{
    kit::{backend, open},
    peer::{eventually, name},
};

#[tokio::test]
async fn a_lease_longer_than_the_ensemble_allows_is_refused_and_the_setting_is_named() {
    let server = ZooKeeper::with(Options::new().set("maxSessionTimeout", "2000")).await;
    let backend = backend(server.url()).await;
    let refused = backend.open_session(Duration::from_secs(10), &Metadata::default()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Config, "{refused}");
    assert!(refused.to_string().contains("maxSessionTimeout"), "{refused}");
    eventually("nothing is left of it", async || server.sessions().await.is_empty()).await;
}

#[tokio::test]
async fn a_lease_shorter_than_the_ensemble_allows_is_kept_and_nothing_remains_longer() {
    let server = ZooKeeper::with(Options::new().set("minSessionTimeout", "5000")).await;
    let (lease, backend) = (Duration::from_secs(2), backend(server.url()).await);
    let opened = backend.open_session(lease, &Metadata::default()).await.unwrap();
    assert!(opened.remaining <= lease, "{:?}", opened.remaining);
    for _ in 0..20 {
        match backend.keep_alive(&opened.session, lease).await.unwrap() {
            KeepAlive::Live { remaining, .. } => {
                assert!(remaining <= lease && remaining > lease / 4, "{remaining:?}");
            }
            KeepAlive::Expired => panic!("it was kept alive"),
        }
        tokio::time::sleep(lease / 20).await;
    }
    // Nobody keeps it alive: it ends with the lease, not with the ensemble's time-out.
    let begun = crate::peer::now();
    eventually("it has ended", async || server.sessions().await.is_empty()).await;
    assert!(begun.elapsed() < Duration::from_millis(4500), "{:?}", begun.elapsed());
}

/// Tasks and threads of this process.
pub(crate) fn at_work() -> (usize, usize) {
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    (tasks, std::fs::read_dir("/proc/self/task").unwrap().count())
}

#[tokio::test]
async fn sessions_that_come_and_go_leave_nothing_there_and_nothing_here() {
    let server = ZooKeeper::start().await;
    let first = open(server.url(), Duration::from_secs(2)).await;
    first.backend.close_session(&first.session).await.unwrap();
    eventually("the first is gone", async || server.connected().await.is_empty()).await;
    let before = at_work();
    let backend = first.backend;
    for round in 0..40 {
        let sessions = futures_util::future::join_all((0..5).map(async |at| {
            let opened = backend.open_session(Duration::from_secs(2), &Metadata::default()).await.unwrap();
            let n = name(format!("n-{round}-{at}"));
            backend.acquire(&opened.session, std::slice::from_ref(&n)).await.unwrap();
            backend.join(&opened.session, &"g".parse().unwrap()).await.unwrap();
            opened.session
        }))
        .await;
        for session in sessions {
            backend.close_session(&session).await.unwrap();
        }
    }
    eventually("nothing is left there", async || {
        server.connected().await.is_empty()
            && server.ephemerals().await.is_empty()
            && server.sessions().await.is_empty()
    })
    .await;
    eventually("nothing is left here", async || {
        let now = at_work();
        now.0 <= before.0 && now.1 <= before.1
    })
    .await;
}
