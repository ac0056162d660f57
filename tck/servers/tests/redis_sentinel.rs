//! Redis under sentinels does what its verbs say.

mod user;

use std::time::Duration;

use redis::{FromRedisValue, Value};
use simba_servers::{Options, Sentinels};
use tokio::time::sleep;

use user::{ask, open};

const WHO: &str = "SENTINEL GET-MASTER-ADDR-BY-NAME main";

#[tokio::test]
async fn a_primary_that_is_killed_is_replaced() {
    let sentinels = Sentinels::start().await;
    let mut app = open(sentinels.primary().url()).await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 2 0").await.unwrap(), 2);
    assert_eq!(sentinels.current_primary().await.address(), sentinels.primary().address());
    sentinels.primary().kill().await.unwrap();
    let successor = sentinels.wait_for_failover().await;
    assert!(sentinels.replicas().iter().any(|replica| replica.address() == successor.address()));
    assert_eq!(sentinels.current_primary().await.address(), successor.address());
    let mut app = open(successor.url()).await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "INCR simba:a").await.unwrap(), 8);
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 0").await.unwrap(), 1, "the other one replicates it");
}

/// Sentinels leave it alone for some ten seconds.
#[tokio::test]
async fn a_primary_that_is_stopped_takes_writes_when_it_goes_on_until_it_is_told() {
    let sentinels = Sentinels::start().await;
    let primary = sentinels.primary();
    let mut app = open(primary.url()).await.unwrap();
    primary.refuse_replicas().await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 200").await.unwrap(), 0);
    primary.stop().unwrap();
    let successor = sentinels.wait_for_failover().await;
    let mut other = open(successor.url()).await.unwrap();
    assert_eq!(ask::<Option<i64>>(&mut other, "GET simba:a").await.unwrap(), None, "the last write is lost");
    primary.resume().unwrap();
    let refused = async {
        while ask::<Value>(&mut app, "SET simba:a 8").await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), refused).await.unwrap();
}

/// A server keeps what the sentinels have made of it.
#[tokio::test]
async fn a_primary_that_took_over_is_one_after_a_kill() {
    let sentinels = Sentinels::with(Options::new().set("down-after-milliseconds", "10000")).await;
    for sentinel in sentinels.sentinels() {
        let found = sentinel.execute(&["SENTINEL", "MASTER", "main"]).await.unwrap();
        let found = std::collections::BTreeMap::<String, String>::from_redis_value(found).unwrap();
        assert_eq!(found["down-after-milliseconds"], "10000");
        assert_eq!(found["num-other-sentinels"], "2");
    }
    sentinels.sentinels()[0].execute(&["SENTINEL", "FAILOVER", "main"]).await.unwrap();
    let successor = sentinels.wait_for_failover().await;
    successor.kill().await.unwrap();
    successor.start_again().await.unwrap();
    let role = successor.execute(&["ROLE"]).await.unwrap();
    let role = Vec::<Value>::from_redis_value(role).unwrap();
    assert_eq!(role[0], Value::BulkString(b"master".into()));
}

#[tokio::test]
async fn two_sentinels_are_enough_and_one_is_not() {
    let sentinels = Sentinels::start().await;
    let [first, second, third] = sentinels.sentinels() else { panic!("there are three") };
    first.kill().await.unwrap();
    second.kill().await.unwrap();
    sentinels.primary().kill().await.unwrap();
    sleep(Duration::from_secs(3)).await;
    let mut asked = open(third.url()).await.unwrap();
    let (_, port): (String, u16) = ask(&mut asked, WHO).await.unwrap();
    assert_eq!(port, sentinels.primary().address().port());
    second.start_again().await.unwrap();
    sentinels.wait_for_failover().await;
}

/// Nobody tells it; so it takes writes from whoever finds it.
#[tokio::test]
async fn behind_proxies_a_primary_that_is_cut_off_is_replaced() {
    let sentinels = Sentinels::behind_proxies().await;
    let primary = sentinels.primary();
    let proxy = primary.proxy().unwrap();
    let mut asked = open(sentinels.sentinels()[0].url()).await.unwrap();
    let (_, port): (String, u16) = ask(&mut asked, WHO).await.unwrap();
    assert_eq!(port, proxy.address().port());
    let mut app = open(&proxy.url(primary.url())).await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 2 0").await.unwrap(), 2);
    proxy.black_hole().await;
    let successor = sentinels.wait_for_failover().await;
    let (_, port): (String, u16) = ask(&mut asked, WHO).await.unwrap();
    assert_eq!(port, successor.proxy().unwrap().address().port());
    let mut old = open(primary.url()).await.unwrap();
    assert_eq!(ask::<i64>(&mut old, "INCR simba:a").await.unwrap(), 8);
    let mut new = open(successor.url()).await.unwrap();
    assert_eq!(ask::<i64>(&mut new, "INCR simba:a").await.unwrap(), 8);
}

#[tokio::test]
async fn sentinels_are_open_unless_they_have_passwords() {
    for (sentinels, open_to_all) in
        [(Sentinels::start().await, true), (Sentinels::with_passwords().await, false)]
    {
        let addresses = sentinels.sentinels().iter().map(|one| one.address().to_string());
        let addresses = addresses.collect::<Vec<_>>().join(",");
        assert_eq!(sentinels.url(), format!("redis+sentinel://app:secret-of-app@{addresses}/main"));
        let one = &sentinels.sentinels()[0];
        let (_, port): (String, u16) = ask(&mut open(one.url()).await.unwrap(), WHO).await.unwrap();
        assert_eq!(port, sentinels.primary().address().port());
        let mut nobody = open(&format!("redis://{}", one.address())).await.unwrap();
        assert_eq!(ask::<Value>(&mut nobody, WHO).await.is_ok(), open_to_all);
        let mut app = open(one.url()).await.unwrap();
        assert_eq!(
            ask::<Value>(&mut app, "SENTINEL FAILOVER main").await.unwrap_err().code(),
            Some("NOPERM")
        );
        sentinels.primary().kill().await.unwrap();
        sentinels.wait_for_failover().await;
    }
}
