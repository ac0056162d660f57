//! Redis in a cluster does what its verbs say.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod user;

use std::time::Duration;

use redis::{FromRedisValue, RedisResult, Value};
use simba_servers::{ClusterNode, Offset, Options, RedisCluster};
use tokio::time::timeout;

use user::{ask, open};

/// On a connection of its own to that server, as the user.
async fn at<T: FromRedisValue>(node: &ClusterNode, command: &str) -> RedisResult<T> {
    ask(&mut open(node.url()).await.unwrap(), command).await
}

/// What an error is called, and what it says behind that.
fn refusal(answer: RedisResult<Value>) -> (String, String) {
    let error = answer.unwrap_err();
    (error.code().unwrap().to_owned(), error.detail().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn each_key_has_a_primary_to_which_the_others_lead() {
    let cluster = RedisCluster::start().await;
    let nodes = cluster.nodes();
    assert_eq!(nodes.len(), 6);
    let addresses: Vec<String> = nodes[..3].iter().map(|node| node.address().to_string()).collect();
    assert_eq!(cluster.url(), format!("redis+cluster://app:secret-of-app@{}", addresses.join(",")));
    for key in ["simba:a", "simba:b", "simba:{c}:d", "simba:{}e", "simba:c"] {
        let slot = RedisCluster::slot_of(key);
        let said = nodes[0].execute(&["CLUSTER", "KEYSLOT", key]).await.unwrap();
        assert_eq!(u16::from_redis_value(said).unwrap(), slot);
        let primary = cluster.primary_of(key).await;
        let mut app = open(primary.url()).await.unwrap();
        let () = ask(&mut app, &format!("SET {key} 7")).await.unwrap();
        assert_eq!(ask::<i64>(&mut app, "WAIT 1 0").await.unwrap(), 1);
        let other = nodes[..3].iter().find(|node| node.id() != primary.id()).unwrap();
        let (error, rest) = refusal(at(other, &format!("GET {key}")).await);
        assert_eq!((error.as_str(), rest), ("MOVED", format!("{slot} {}", primary.address())));
        let replica = cluster.partner_of(&primary);
        let mut reader = open(replica.url()).await.unwrap();
        let () = ask(&mut reader, "READONLY").await.unwrap();
        assert_eq!(ask::<i64>(&mut reader, &format!("GET {key}")).await.unwrap(), 7);
    }
    at::<Value>(&nodes[0], "CLUSTER SLOTS").await.unwrap();
    at::<Value>(&nodes[0], "CLUSTER SHARDS").await.unwrap();
    assert_eq!(refusal(at(&nodes[0], "CLUSTER RESET").await).0, "NOPERM");
}

#[tokio::test]
async fn a_primary_that_is_killed_is_replaced_and_comes_back_as_a_replica() {
    let cluster = RedisCluster::start().await;
    let primary = cluster.primary_of("simba:a").await;
    let mut app = open(primary.url()).await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 0").await.unwrap(), 1);
    primary.kill().await.unwrap();
    let successor = cluster.wait_for_failover_of(&primary).await;
    assert_eq!(successor.id(), cluster.partner_of(&primary).id());
    assert_eq!(at::<i64>(&successor, "GET simba:a").await.unwrap(), 7);
    assert_eq!(cluster.primary_of("simba:a").await.id(), successor.id());
    primary.start_again().await.unwrap();
    cluster.wait_until_whole().await;
    assert_eq!(refusal(at(&primary, "GET simba:a").await).0, "MOVED");
}

#[tokio::test]
async fn a_primary_that_is_stopped_is_replaced_and_its_last_writes_are_lost() {
    let cluster = RedisCluster::start().await;
    let primary = cluster.primary_of("simba:a").await;
    primary.refuse_replicas().await.unwrap();
    let mut app = open(primary.url()).await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 200").await.unwrap(), 0);
    primary.stop().unwrap();
    let successor = cluster.wait_for_failover_of(&primary).await;
    assert_eq!(at::<Option<i64>>(&successor, "GET simba:a").await.unwrap(), None);
    primary.resume().unwrap();
    cluster.wait_until_whole().await;
    assert_eq!(refusal(ask(&mut app, "SET simba:a 8").await).0, "MOVED");
}

#[tokio::test]
async fn a_replica_takes_over_when_it_is_told() {
    let cluster = RedisCluster::with(Options::new().set("cluster-node-timeout", "15000")).await;
    let primary = cluster.primary_of("simba:a").await;
    let replica = cluster.partner_of(&primary);
    replica.execute(&["CLUSTER", "FAILOVER"]).await.unwrap();
    assert_eq!(cluster.wait_for_failover_of(&primary).await.id(), replica.id());
    primary.kill().await.unwrap();
    primary.start_again().await.unwrap();
    for node in cluster.nodes() {
        let found = node.execute(&["CONFIG", "GET", "cluster-node-timeout"]).await.unwrap();
        assert_eq!(<(String, u64)>::from_redis_value(found).unwrap().1, 15000);
    }
    replica.step_clock(Offset::Ahead(Duration::from_secs(3600))).unwrap();
    let (ahead, _): (i64, i64) = at(replica, "TIME").await.unwrap();
    let (now, _): (i64, i64) = at(&primary, "TIME").await.unwrap();
    assert!((ahead - now - 3600).abs() < 30);
}

#[tokio::test]
async fn a_slot_moves_with_its_keys() {
    let cluster = RedisCluster::start().await;
    let from = cluster.primary_of("simba:{a}").await;
    let to = cluster.nodes()[..3].iter().find(|node| node.id() != from.id()).unwrap();
    let () = at(&from, "SET simba:{a}:1 7").await.unwrap();
    cluster.migrate(RedisCluster::slot_of("simba:{a}"), to).await;
    assert_eq!(cluster.primary_of("simba:{a}").await.id(), to.id());
    assert_eq!(at::<i64>(to, "GET simba:{a}:1").await.unwrap(), 7);
    assert_eq!(refusal(at(&from, "GET simba:{a}:1").await).0, "MOVED");
}

#[tokio::test]
async fn while_a_slot_moves_clients_are_told_to_ask_or_to_try_again() {
    let cluster = RedisCluster::start().await;
    let from = cluster.primary_of("simba:{a}").await;
    let to = cluster.nodes()[..3].iter().find(|node| node.id() != from.id()).unwrap();
    let () = at(&from, "MSET simba:{a}:1 7 simba:{a}:2 8").await.unwrap();
    let slot = RedisCluster::slot_of("simba:{a}");
    let migration = cluster.begin_migration(slot, to).await;
    assert_eq!((migration.from().id(), migration.to().id()), (from.id(), to.id()));
    assert_eq!(at::<i64>(&from, "GET simba:{a}:1").await.unwrap(), 7);
    migration.move_keys(&["simba:{a}:1"]).await;
    assert_eq!(migration.keys_left().await, ["simba:{a}:2"]);
    let ask_there = ("ASK".to_owned(), format!("{slot} {}", to.address()));
    assert_eq!(refusal(at(&from, "GET simba:{a}:1").await), ask_there);
    assert_eq!(refusal(at(&from, "SET simba:{a}:3 9 NX").await), ask_there);
    assert_eq!(refusal(at(&from, "MGET simba:{a}:1 simba:{a}:2").await).0, "TRYAGAIN");
    assert_eq!(refusal(at(to, "GET simba:{a}:1").await).0, "MOVED");
    let mut asking = open(to.url()).await.unwrap();
    let () = ask(&mut asking, "ASKING").await.unwrap();
    assert_eq!(ask::<i64>(&mut asking, "GET simba:{a}:1").await.unwrap(), 7);
    migration.move_keys(&["simba:{a}:2"]).await;
    migration.end().await;
    assert_eq!(at::<i64>(to, "GET simba:{a}:2").await.unwrap(), 8);
}

#[tokio::test]
async fn behind_proxies_clients_are_led_to_them() {
    let cluster = RedisCluster::behind_proxies().await;
    let primary = cluster.primary_of("simba:a").await;
    let proxy = primary.proxy().unwrap();
    assert_ne!(proxy.address(), primary.address());
    assert!(cluster.url().contains(&cluster.nodes()[0].proxy().unwrap().address().to_string()));
    let other = cluster.nodes()[..3].iter().find(|node| node.id() != primary.id()).unwrap();
    let led = format!("{} {}", RedisCluster::slot_of("simba:a"), proxy.address());
    assert_eq!(refusal(at(other, "GET simba:a").await), ("MOVED".into(), led));
    let mut app = open(&proxy.url(primary.url())).await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 0").await.unwrap(), 1);
    proxy.black_hole().await;
    let silent = timeout(Duration::from_millis(300), ask::<Value>(&mut app, "GET simba:a")).await;
    assert!(silent.is_err());
    assert_eq!(at::<i64>(&primary, "GET simba:a").await.unwrap(), 7);
    proxy.heal().await;
    cluster.wait_until_whole().await;
    primary.kill().await.unwrap();
    let successor = cluster.wait_for_failover_of(&primary).await;
    assert_eq!(at::<i64>(&successor, "GET simba:a").await.unwrap(), 7);
}
