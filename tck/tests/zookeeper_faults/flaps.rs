//! A link that is silent, for moments or for too long.

use std::time::Duration;

use simba_actors::{LockTerm, Reason, Simba, SimbaConfig};
use simba_servers::{Proxy, ZooKeeper};
use tokio::{runtime::Handle, time::sleep};

use crate::{
    kit::{backend, behind_proxy},
    peer::{BOUND, eventually, now},
};

const LEASE: Duration = Duration::from_millis(1500);

/// A silence that ends no session.
const MOMENT: Duration = Duration::from_millis(60);

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// What there is at the server and here.
async fn count(server: &ZooKeeper) -> (usize, usize, usize) {
    let sessions = server.sessions().await.len().max(server.connected().await.len());
    (sessions, Handle::current().metrics().num_alive_tasks(), threads())
}

async fn won(simba: &Simba) -> LockTerm {
    simba.lock("n").unwrap().acquire(BOUND).await.unwrap()
}

/// Loses what is held to silence.
async fn lose(lock: &LockTerm, proxy: &Proxy, server: &ZooKeeper) {
    sleep(LEASE / 3).await;
    assert!(lock.is_valid());
    proxy.black_hole().await;
    let begun = now();
    eventually("it is revoked", async || !lock.is_valid()).await;
    assert!(begun.elapsed() < LEASE, "by its own deadline, after {:?}", begun.elapsed());
    eventually("its reason is told", async || lock.reason().is_some()).await;
    assert!(matches!(lock.reason(), Some(Reason::Deadline | Reason::SessionExpired)), "{:?}", lock.reason());
    eventually("the server ends the session, too", async || server.sessions().await.is_empty()).await;
    proxy.heal().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_link_revokes_by_the_deadline_and_a_hundred_flaps_leave_nothing_behind() {
    let (server, proxy) = behind_proxy().await;
    let config = SimbaConfig::builder().lease(LEASE).renew(LEASE / 5).build().unwrap();
    let backend = backend(&proxy.url(server.url())).await;
    let simba = Simba::builder().backend(backend).config(config).connect().await.unwrap();
    let mut held = won(&simba).await;
    for _ in 0..2 {
        lose(&held, &proxy, &server).await;
        let again = won(&simba).await;
        assert!(again.is_valid() && again.token() > held.token(), "tokens rise");
        held = again;
    }
    sleep(LEASE).await;
    let before = count(&server).await;
    for round in 0..98 {
        proxy.black_hole().await;
        sleep(MOMENT).await;
        if round % 4 == 0 {
            proxy.reset().await;
        }
        proxy.heal().await;
        sleep(MOMENT).await;
    }
    // So many may have cost the session.
    let last = if held.is_valid() { held } else { won(&simba).await };
    eventually("it goes on", async || last.remaining() > LEASE / 3).await;
    eventually("nothing is left behind", async || {
        let now = count(&server).await;
        now.0 <= before.0 && now.1 <= before.1 && now.2 <= before.2
    })
    .await;
    simba.close().await.unwrap();
    eventually("no session is left", async || server.sessions().await.is_empty()).await;
}
