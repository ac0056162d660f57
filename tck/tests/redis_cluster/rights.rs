//! What we may do on each node.

use simba_backends::{ErrorKind, redis::RedisBackend};
use simba_servers::RedisCluster;

#[tokio::test]
async fn a_primary_that_does_not_let_us_in_is_found_at_once() {
    let cluster = RedisCluster::start().await;
    for node in &cluster.nodes()[..3] {
        node.execute(&["ACL", "SETUSER", "app", "-publish"]).await.unwrap();
        let error = RedisBackend::connect(cluster.url()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error:?}");
        assert!(error.to_string().contains("publish"), "{error}");
        node.execute(&["ACL", "SETUSER", "app", "+publish"]).await.unwrap();
    }
    RedisBackend::connect(cluster.url()).await.unwrap();
}
