//! Who is let in, and whose the nodes are.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use redis::{Client as RedisClient, TlsCertificates};
use simba_backends::{
    ErrorKind, LeaseBackend, Outcome,
    redis::RedisBackend,
    zookeeper::{ZooKeeperBackend, ZooKeeperBuilder},
};
use simba_servers::{APP_PASSWORD, Options, Redis, ZooKeeper};
use zookeeper_client::{Acl, Acls, AuthId, CreateMode, Permission, SaslOptions, TlsOptions};

use crate::{
    Storage,
    client::{Client, at_once, group, name, serves},
    zookeeper_kit::{fixture::usual, operator::Operator, paths::Root, ways::Alone},
};

/// Makes one node of each kind, and tells all there are.
async fn each_kind(root: &Root, client: &Client) -> Vec<String> {
    client.granted(&name("n")).await;
    client.backend.join(&client.session, &group("g")).await.unwrap();
    vec![
        root.0.clone(),
        root.leases(),
        root.lease("n"),
        root.groups(),
        root.group("g"),
        root.member("g", &client.session),
        root.sessions(),
        root.session(&client.session),
    ]
}

async fn all_belong_to(operator: &Operator, paths: &[String], scheme: &str, id: &str) {
    for path in paths {
        let acl = operator.acl(path).await;
        assert_eq!(acl.len(), 1, "{path}: {acl:?}");
        assert_eq!((acl[0].permission(), acl[0].scheme()), (Permission::ALL, scheme), "{path}");
        assert!(acl[0].id().starts_with(id), "{path}: {acl:?}");
    }
}

#[tokio::test]
async fn who_logs_in_owns_what_is_made_and_who_does_not_is_warned() {
    let server = Storage::with(usual()).await;
    let (operator, root) = (server.operator().await, server.root());
    let by_url = Client::open(server.backend().await).await;
    assert_eq!(by_url.backend.warnings(), [""; 0]);
    all_belong_to(&operator, &each_kind(&root, &by_url).await, "digest", "app:").await;

    // The same user, in another way.
    let url = server.place.zookeeper.url();
    let digest = format!("app:{APP_PASSWORD}");
    let by_builder = ZooKeeperBackend::builder(url).unwrap().auth("digest", digest);
    let by_builder = by_builder.connect().await.unwrap();
    let holder = by_builder.inspect(&name("n")).await.unwrap().expect("somebody holds it");
    assert_eq!(holder.session, by_url.session);
    serves(by_builder).await;

    let open = ZooKeeperBackend::builder(url).unwrap().root("/open").connect().await.unwrap();
    let warnings = open.warnings().to_vec();
    assert!(warnings.len() == 1 && warnings[0].contains("/open"), "{warnings:?}");
    let open = Client::open(open).await;
    let made = each_kind(&Root("/open".to_owned()), &open).await;
    all_belong_to(&operator, &made, "world", "anyone").await;
}

#[tokio::test]
async fn a_provider_is_asked_for_each_node_that_is_made_and_parents_that_exist_keep_their_acl() {
    let server = Storage::with(usual()).await;
    let (operator, root) = (server.operator().await, Root("/above/simba".to_owned()));
    let team = [
        Acl::new(Permission::ALL, AuthId::new("auth", "")),
        Acl::new(Permission::READ, AuthId::new("world", "anyone")),
    ];
    let kept = [Acl::new(Permission::ALL, AuthId::new("world", "anyone"))];
    operator.create_for(&root.leases(), CreateMode::Persistent, b"", Acls::new(&kept)).await;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let provider = {
        let asked = Arc::clone(&asked);
        move |path: &str| {
            asked.lock().unwrap().push(path.to_owned());
            team.to_vec()
        }
    };
    let backend = server.builder().root(&root.0).acl(provider).connect().await.unwrap();
    let [warning] = backend.warnings() else { panic!("what was there is open: {:?}", backend.warnings()) };
    assert!(warning.contains(&root.leases()) && !warning.contains("/sessions"), "{warning}");
    let client = Client::open(backend).await;
    let made = each_kind(&root, &client).await;
    for path in &made {
        let acl = operator.acl(path).await;
        if *path == root.0 || *path == root.leases() {
            assert_eq!(acl, kept, "{path} was there");
        } else {
            assert!(asked.lock().unwrap().contains(path), "{path} was made without a question");
            assert_eq!(acl.len(), 2, "{path}: {acl:?}");
            assert_eq!((acl[0].scheme(), acl[1].permission()), ("digest", Permission::READ), "{path}");
        }
    }
    // Made anew, it is as the provider says.
    client.backend.leave(&client.session, &group("g")).await.unwrap();
    let nodes = [root.lease("n"), root.leases()];
    for path in &nodes {
        assert!(operator.delete(path).await);
    }
    client.granted(&name("n")).await;
    assert_eq!(operator.acl(&root.leases()).await.len(), 2);
    serves(client.backend).await;
}

fn sasl(server: &ZooKeeper, password: &'static str) -> ZooKeeperBuilder {
    let url = format!("zookeeper://{}", server.address());
    ZooKeeperBackend::builder(&url).unwrap().sasl(SaslOptions::digest_md5("app", password))
}

#[tokio::test]
async fn who_logs_in_by_sasl_owns_what_is_made_and_a_wrong_password_is_refused() {
    let options = usual().set("sessionRequireClientSASLAuth", "true");
    let server = ZooKeeper::with_sasl(options).await;
    let builder = sasl(&server, APP_PASSWORD);
    assert!(!format!("{builder:?}").contains(APP_PASSWORD));
    let client = Client::open(builder.connect().await.unwrap()).await;
    assert_eq!(client.backend.warnings(), [""; 0]);
    // Nobody else is let in, so that the owner has to look.
    let made = each_kind(&Root("/simba".to_owned()), &client).await;
    let looks = zookeeper_client::Client::connector().with_sasl(SaslOptions::digest_md5("app", APP_PASSWORD));
    let looks = Operator(looks.connect(&server.address().to_string()).await.unwrap());
    all_belong_to(&looks, &made, "sasl", "app").await;
    serves(client.backend).await;

    let error = at_once(sasl(&server, "wr0ng").connect()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Unauthorized, Outcome::NotApplied), "{error:?}");
    assert!(error.to_string().contains("credentials"), "{error}");
    assert!(!format!("{error:?}").contains("wr0ng"), "{error:?}");
    let url = format!("zookeeper://{}", server.address());
    let error = at_once(ZooKeeperBackend::connect(&url)).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Unauthorized, Outcome::NotApplied), "{error:?}");
}

fn trusting() -> TlsOptions {
    let authority = fs::read_to_string(ZooKeeper::authority()).unwrap();
    TlsOptions::default().with_pem_ca(&authority).unwrap()
}

#[tokio::test]
async fn with_tls_a_server_of_the_given_authority_is_trusted_and_no_other() {
    let server = ZooKeeper::with_tls(usual()).await;
    let builder = || ZooKeeperBackend::builder(server.url()).unwrap();
    serves(builder().auth("digest", format!("app:{APP_PASSWORD}")).tls(trusting()).connect().await.unwrap())
        .await;

    let stranger = fs::read_to_string(Redis::authority()).unwrap();
    let stranger = TlsOptions::default().with_pem_ca(&stranger).unwrap();
    for (situation, builder) in [("another authority", builder().tls(stranger)), ("no TLS", builder())] {
        let error = builder.connect().await.unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotApplied, "{situation}: {error:?}");
        let fits = matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Config);
        assert!(fits && error.to_string().contains("TLS"), "{situation}: {error:?}");
    }
    let plain = Alone::of(ZooKeeper::with(usual()).await).await;
    let error = ZooKeeperBackend::builder(plain.zookeeper.url()).unwrap().tls(trusting()).connect().await;
    let error = error.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && error.to_string().contains("TLS"), "{error:?}");
}

#[tokio::test]
async fn with_tls_who_logs_in_is_let_in_each_time() {
    let server = ZooKeeper::with_tls(usual()).await;
    let builder = || ZooKeeperBackend::builder(server.url()).unwrap().auth("digest", "app:secret");
    for _ in 0..30 {
        builder().tls(trusting()).connect().await.unwrap_or_else(|error| panic!("{error:?}"));
    }
}

async fn zookeeper_serves_with_tls() {
    let server = ZooKeeper::with_tls(usual()).await;
    let builder = ZooKeeperBackend::builder(server.url()).unwrap();
    serves(builder.tls(trusting()).connect().await.unwrap()).await;
}

async fn redis_serves_with_tls() {
    let redis = Redis::with_tls(Options::new()).await;
    let root_cert = Some(fs::read(Redis::authority()).unwrap());
    let certificates = TlsCertificates { client_tls: None, root_cert };
    // By its URL alone nobody vouches for it: which is an error, and no panic.
    let error = RedisBackend::connect(redis.url()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error:?}");
    let client = RedisClient::build_with_tls(redis.url(), certificates).unwrap();
    let backend = RedisBackend::builder_with_client(&client).connect().await.unwrap();
    assert_eq!(backend.inspect(&name("n")).await.unwrap(), None);
}

#[tokio::test]
async fn redis_has_tls_in_a_process_where_zookeeper_had_it_first() {
    zookeeper_serves_with_tls().await;
    redis_serves_with_tls().await;
}

#[tokio::test]
async fn zookeeper_has_tls_in_a_process_where_redis_had_it_first() {
    redis_serves_with_tls().await;
    zookeeper_serves_with_tls().await;
}
