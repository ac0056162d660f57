//! What an operator should change about a server.

use simba_actors::{Simba, SimbaEvent};
use simba_backends::{ErrorKind, LeaseBackend, redis::RedisBackend};
use simba_servers::{Options, Redis};

/// One whose settings may be changed: nobody else uses it.
async fn own(options: Options) -> Redis {
    let redis = Redis::with(options).await;
    assert!(redis.pid().is_some(), "the settings of a server that was there before are left alone");
    redis
}

async fn warnings(redis: &Redis) -> (Vec<String>, bool) {
    let backend = RedisBackend::connect(redis.url()).await.unwrap_or_else(|error| panic!("{error:?}"));
    (LeaseBackend::warnings(&backend).to_vec(), backend.capabilities().durable_tokens)
}

#[tokio::test]
async fn settings_that_lose_tokens_are_warned_of_and_no_others() {
    let redis = own(Options::new()).await;
    assert_eq!(warnings(&redis).await, (vec![], true));
    for policy in ["allkeys-lru", "volatile-ttl"] {
        redis.execute(&["CONFIG", "SET", "maxmemory-policy", policy]).await.unwrap();
        let (told, durable) = warnings(&redis).await;
        assert!(
            told.len() == 1 && told[0].contains("maxmemory-policy") && told[0].contains(policy),
            "{told:?}"
        );
        assert!(told[0].contains("noeviction") && durable, "{told:?}");
    }
    redis.execute(&["CONFIG", "SET", "appendonly", "no"]).await.unwrap();
    let (told, durable) = warnings(&redis).await;
    assert!(told.len() == 2 && told[1].contains("appendonly yes") && !durable, "{told:?}");
}

#[tokio::test]
async fn each_subscriber_is_told_of_the_warnings_first() {
    let redis = own(Options::new().set("appendonly", "no")).await;
    let simba = Simba::connect(redis.url()).await.unwrap();
    for _ in 0..2 {
        let Some(SimbaEvent::StorageWarning { message }) = simba.events().next().await else {
            panic!("no warning")
        };
        assert!(message.contains("appendonly yes"), "{message}");
    }
    simba.close().await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_say_how_it_is_set_is_taken_as_it_is() {
    let redis = own(Options::new().set("appendonly", "no")).await;
    redis.execute(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]).await.unwrap();
    redis.execute(&["ACL", "SETUSER", "app", "-info", "-config"]).await.unwrap();
    assert_eq!(warnings(&redis).await, (vec![], false), "what is not known is neither promised nor told");
}

#[tokio::test]
async fn a_right_that_is_needed_only_after_a_restart_is_missed_at_once() {
    let redis = own(Options::new()).await;
    warnings(&redis).await;
    redis.execute(&["ACL", "SETUSER", "app", "-eval"]).await.unwrap();
    // The server has seen the scripts by now.
    let error = RedisBackend::connect(redis.url()).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unauthorized && error.to_string().contains("eval"), "{error:?}");
}
