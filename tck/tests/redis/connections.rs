//! Connections that the application has a say in.

use std::sync::Arc;

use ::redis::{Client, TlsCertificates};
use deadpool_redis::{Config, Runtime};
use simba_backends::{ErrorKind, LeaseBackend, Outcome, redis::RedisBackend};
use simba_servers::{Options, Redis};
use simba_tck::Fixture;

use crate::{
    Storage,
    peer::{LONG, Peer, eventually, hinted, name},
};

/// A name changes hands, and that is heard of.
async fn serves(backend: RedisBackend) {
    let backend: Arc<dyn LeaseBackend> = Arc::new(backend);
    let (mine, other) = (Peer::open(backend.clone(), LONG).await, Peer::open(backend.clone(), LONG).await);
    let n = name("n");
    let token = mine.granted(&n).await;
    assert!(other.is_held(&n).await);
    let mut hints = backend.hints().expect("Redis hints");
    hints.want(&n);
    mine.release(&n, token).await;
    hinted(&mut *hints, &n).await;
    let next = other.granted(&n).await;
    assert!(next > token);
    assert_eq!(other.owned().await.unwrap(), [(n.clone(), next)]);
    other.release(&n, next).await;
}

#[tokio::test]
async fn with_tls_an_authority_of_ones_own_is_trusted_when_it_is_given_and_not_before() {
    let redis = Redis::with_tls(Options::new()).await;
    let error = RedisBackend::connect(redis.url()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Config, Outcome::NotApplied), "{error:?}");
    assert!(error.to_string().contains("certificates"), "{error}");
    let root_cert = Some(std::fs::read(Redis::authority()).unwrap());
    let client =
        Client::build_with_tls(redis.url(), TlsCertificates { client_tls: None, root_cert }).unwrap();
    serves(RedisBackend::builder_with_client(&client).connect().await.unwrap()).await;
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_of() {
    let server = Storage::fresh().await;
    let error = RedisBackend::connect(&server.url().replace("redis://", "rediss://")).await.unwrap_err();
    // It waits for the rest of what it takes for a command.
    let fits = matches!(error.kind(), ErrorKind::Config | ErrorKind::Unavailable | ErrorKind::Timeout);
    assert!(fits && error.outcome() == Outcome::NotApplied, "{error:?}");
}

#[tokio::test]
async fn the_applications_pool_is_enough() {
    let server = Storage::fresh().await;
    let pool = Config::from_url(server.url()).create_pool(Some(Runtime::Tokio1)).unwrap();
    let client = Client::open(server.url()).unwrap();
    let backend = RedisBackend::builder_with_pool(pool.clone(), &client).connect().await.unwrap();
    serves(backend.clone()).await;
    assert_eq!(pool.status().size, 0, "what is taken out is not the pool's any more");
    server.everywhere("CLIENT KILL TYPE normal SKIPME yes").await;
    eventually("new ones are taken out", async || backend.inspect(&name("n")).await.is_ok()).await;
    let backend: Arc<dyn LeaseBackend> = Arc::new(backend);
    eventually("a session opens", async || {
        backend.open_session(LONG, &simba_backends::Metadata::default()).await.is_ok()
    })
    .await;
    pool.close();
    backend.inspect(&name("n")).await.expect("a closed pool's connections go on");
}
