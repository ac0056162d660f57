//! A ZooKeeper ensemble does what its verbs say.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod session;

use std::{fs, time::Duration};

use simba_servers::{Cut, Options, ZooKeeper, ZooKeeperEnsemble, ZooKeeperMode};
use tokio::time::{sleep, timeout};

use session::{Kind, Session};

/// Who hears nothing notices after a second.
fn quick() -> Options {
    Options::new().set("syncLimit", "2")
}

/// Waits until a server is what it is to be; none is one that serves nobody.
async fn becomes(node: &ZooKeeper, mode: Option<ZooKeeperMode>) {
    let waited = async {
        while node.mode().await != mode {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(30), waited).await.unwrap();
}

async fn open(node: &ZooKeeper) -> Session {
    Session::open(node.address(), 10_000).await.unwrap()
}

#[tokio::test]
async fn a_leader_that_is_killed_is_replaced_and_nothing_is_left_in_the_end() {
    let ensemble = ZooKeeperEnsemble::start().await;
    let leader = ensemble.leader().await;
    let followers = ensemble.followers().await;
    assert_eq!((ensemble.nodes().len(), followers.len()), (3, 2));
    let addresses: Vec<_> = ensemble.nodes().iter().map(|node| node.address().to_string()).collect();
    assert_eq!(ensemble.url(), format!("zookeeper://{}", addresses.join(",")));
    let mut app = open(&followers[0]).await;
    app.create("/a", Kind::Persistent).await.unwrap().unwrap();
    app.create("/a/e", Kind::Ephemeral).await.unwrap().unwrap();
    leader.kill().await.unwrap();
    let successor = ensemble.wait_for_failover_of(&leader).await;
    assert!(followers.iter().any(|node| node.address() == successor.address()));
    assert_eq!(ensemble.leader().await.address(), successor.address());
    assert_eq!(successor.ephemerals().await[&app.id], ["/a/e"]);
    open(&successor).await.create("/a/b", Kind::Persistent).await.unwrap().unwrap();
    leader.start_again().await.unwrap();
    ensemble.wait_until_whole().await;
    assert_eq!(leader.mode().await, Some(ZooKeeperMode::Follower));
    assert!(open(&leader).await.watch("/a/b").await.unwrap(), "it has what it has missed");

    let processes = ensemble.nodes().iter().map(|node| format!("/proc/{}", node.pid().unwrap()));
    let processes: Vec<_> = processes.collect();
    drop((ensemble, leader, followers, successor));
    assert!(processes.iter().all(|process| !fs::exists(process).unwrap()));
}

#[tokio::test]
async fn a_leader_that_is_stopped_is_replaced_and_follows_when_it_goes_on() {
    let ensemble = ZooKeeperEnsemble::with(quick()).await;
    let leader = ensemble.leader().await;
    leader.stop().unwrap();
    let successor = ensemble.wait_for_failover_of(&leader).await;
    leader.resume().unwrap();
    becomes(&leader, Some(ZooKeeperMode::Follower)).await;
    ensemble.wait_until_whole().await;
    assert_eq!(ensemble.leader().await.address(), successor.address());
}

#[tokio::test]
async fn one_alone_serves_nobody_until_all_are_started_again() {
    let ensemble = ZooKeeperEnsemble::start().await;
    let [first, second, third] = ensemble.nodes() else { panic!("there are three") };
    open(first).await.create("/a", Kind::Persistent).await.unwrap().unwrap();
    first.kill().await.unwrap();
    second.kill().await.unwrap();
    becomes(third, None).await;
    assert!(third.four_letter_word("srvr").await.unwrap().contains("not currently serving"));
    third.kill().await.unwrap();
    ensemble.start_again().await;
    ensemble.wait_until_whole().await;
    assert!(open(third).await.watch("/a").await.unwrap());
}

#[tokio::test]
async fn behind_proxies_clients_can_be_cut_off_alone() {
    let ensemble = ZooKeeperEnsemble::behind_proxies().await;
    let [node, ..] = ensemble.nodes() else { panic!("there are three") };
    let proxy = node.proxy().unwrap();
    assert_ne!(proxy.address(), node.address());
    assert!(ensemble.url().contains(&proxy.address().to_string()));
    assert!(!ensemble.admin_url().contains(&node.address().to_string()));
    let mut app = Session::open(proxy.address(), 10_000).await.unwrap();
    assert_eq!(node.connected().await, [(app.id, 1)].into());
    for node in ensemble.nodes() {
        assert_eq!(node.sessions().await, [app.id].into(), "sessions are known to all");
    }
    proxy.black_hole().await;
    assert!(timeout(Duration::from_millis(300), app.watch("/a")).await.is_err());
    ensemble.wait_until_whole().await;
    assert!(ensemble.cut_from_quorum(node, Cut::Silence).await.is_err(), "there is nothing to cut");
}

#[tokio::test]
async fn a_follower_that_is_cut_off_serves_nobody_until_it_is_healed() {
    let ensemble = ZooKeeperEnsemble::linked_by_proxies_with(quick()).await;
    let (leader, followers) = (ensemble.leader().await, ensemble.followers().await);
    for cut in [Cut::Silence, Cut::Reset] {
        ensemble.cut_from_quorum(&followers[0], cut).await.unwrap();
        becomes(&followers[0], None).await;
        let path = format!("/{cut:?}");
        open(&followers[1]).await.create(&path, Kind::Persistent).await.unwrap().unwrap();
        assert_eq!(leader.mode().await, Some(ZooKeeperMode::Leader));
        assert_eq!(followers[0].mode().await, None);
        ensemble.heal(&followers[0]).await.unwrap();
        ensemble.wait_until_whole().await;
        assert!(open(&followers[0]).await.watch(&path).await.unwrap());
    }
}

/// For some time it may call itself the leader, but what it is told then is never done.
#[tokio::test]
async fn a_leader_that_is_cut_off_is_replaced_and_follows_when_it_is_healed() {
    let ensemble = ZooKeeperEnsemble::linked_by_proxies_with(quick()).await;
    for cut in [Cut::Silence, Cut::Reset] {
        let leader = ensemble.leader().await;
        ensemble.cut_from_quorum(&leader, cut).await.unwrap();
        let successor = ensemble.wait_for_failover_of(&leader).await;
        becomes(&leader, None).await;
        open(&successor).await.create(&format!("/{cut:?}"), Kind::Persistent).await.unwrap().unwrap();
        ensemble.heal(&leader).await.unwrap();
        ensemble.wait_until_whole().await;
        assert_eq!(leader.mode().await, Some(ZooKeeperMode::Follower));
    }
}
