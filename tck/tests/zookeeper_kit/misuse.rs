//! Ways to use ZooKeeper wrongly.

use simba_backends::{
    Acquired, Acquisition, BackendError, ErrorKind, LeaseBackend, Metadata, zookeeper::ZooKeeperBackend,
};
use simba_servers::APP_PASSWORD;
use simba_tck::{Fixture, Misuse};
use zookeeper_client::{Acl, Acls, AuthId, CreateMode, Permission};

use super::{
    deployment::Deployment,
    fixture::{Custom, Server, log_in},
};

pub(super) async fn all<D: Deployment, C: Custom>(server: &Server<D, C>) -> Vec<Misuse> {
    let mut found = foreign_data(server).await;
    found.push(wrong_password(server).await);
    found.extend(parents(server).await);
    found.extend(urls(server).await);
    found
}

async fn refused(situation: &'static str, url: &str, kind: ErrorKind, remedy: &'static str) -> Misuse {
    let error = match ZooKeeperBackend::connect(url).await {
        Ok(_) => panic!("{situation}: connected"),
        Err(error) => error,
    };
    Misuse { situation, error, kind, remedy, secret: Some(APP_PASSWORD.to_owned()) }
}

/// ZooKeeper knows no users: who has another password is somebody else, to whom nothing here belongs.
async fn wrong_password<D: Deployment, C: Custom>(server: &Server<D, C>) -> Misuse {
    let _ = server.backend().await; // its nodes remain
    let wrong = log_in(&server.place.url(), "app", "wr0ng");
    let mut found =
        refused("a wrong password", &wrong, ErrorKind::Unauthorized, "check the credentials").await;
    found.secret = Some("wr0ng".to_owned());
    found
}

async fn foreign_data<D: Deployment, C: Custom>(server: &Server<D, C>) -> Vec<Misuse> {
    let (backend, operator, root) = (server.backend().await, server.operator().await, server.root());
    let session = backend.open_session(server.lease() * 20, &Metadata::default()).await.unwrap().session;
    let id = session.as_str().as_bytes();
    let mut found = Vec::new();
    for (situation, name, mode, data) in [
        ("a node that stays", "persistent", CreateMode::Persistent, &b""[..]),
        ("a node that stays with an id in it", "disguised", CreateMode::Persistent, id),
        ("an ephemeral node that is empty", "empty", CreateMode::Ephemeral, b""),
        ("an ephemeral node with another id", "mistaken", CreateMode::Ephemeral, id),
        ("an ephemeral node with other data", "binary", CreateMode::Ephemeral, b"\xff\x00"),
    ] {
        let path = root.lease(name);
        operator.create(&path, mode, data).await;
        let name = name.parse().unwrap();
        let inspected = backend.inspect(&name).await.unwrap_err();
        let Acquired::Answers(mut answers) = backend.acquire(&session, &[name]).await.unwrap() else {
            panic!("{session} lives");
        };
        let Acquisition::Failed(acquired) = answers.remove(0).1 else {
            panic!("{situation}: {answers:?}");
        };
        for error in [inspected, acquired] {
            assert!(error.to_string().contains(&path), "{situation}: {error}");
            found.push(corrupt(situation, error));
        }
    }
    let path = root.member("g", &session);
    operator.create(&path, CreateMode::Persistent, b"").await;
    let error = backend.join(&session, &"g".parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().contains(&path), "{error}");
    found.push(corrupt("a node that stays in a group", error));
    found
}

fn corrupt(situation: &'static str, error: BackendError) -> Misuse {
    let secret = Some(APP_PASSWORD.to_owned());
    Misuse { situation, error, kind: ErrorKind::Corrupt, remedy: "remove it or use another root", secret }
}

/// Parents that somebody else has made.
async fn parents<D: Deployment, C: Custom>(server: &Server<D, C>) -> Vec<Misuse> {
    let operator = server.operator().await;
    let reader = [Acl::new(Permission::READ, AuthId::new("world", "anyone"))];
    let mut found = Vec::new();
    for part in ["leases", "sessions", "groups"] {
        let root = format!("/locked-{part}");
        let path = format!("{root}/{part}");
        operator.create_for(&path, CreateMode::Persistent, b"", Acls::new(&reader)).await;
        let url = elsewhere(server, &root);
        let misuse = refused("a parent of somebody else", &url, ErrorKind::Unauthorized, "its parents").await;
        assert!(misuse.error.to_string().contains(&format!("on {path} of")), "{}", misuse.error);
        found.push(misuse);
    }
    operator.create("/ephemeral/leases", CreateMode::Ephemeral, b"").await;
    let url = elsewhere(server, "/ephemeral");
    let misuse = refused("a parent that is ephemeral", &url, ErrorKind::Corrupt, "another root").await;
    assert!(misuse.error.to_string().contains("/ephemeral/leases"), "{}", misuse.error);
    found.push(misuse);
    operator.create("/fleeting", CreateMode::Ephemeral, b"").await;
    let url = elsewhere(server, "/fleeting");
    found.push(refused("a root that is ephemeral", &url, ErrorKind::Schema, "another root").await);
    found
}

/// The same servers, with another root.
fn elsewhere<D: Deployment, C: Custom>(server: &Server<D, C>, root: &str) -> String {
    log_in(&format!("zookeeper://{}{root}", server.hosts()), "app", APP_PASSWORD)
}

async fn urls<D: Deployment, C: Custom>(server: &Server<D, C>) -> Vec<Misuse> {
    let hosts = server.hosts();
    let spelled = |before: &str, after: &str| format!("{before}app:{APP_PASSWORD}@{hosts}{after}");
    let mut found = Vec::new();
    for (situation, url, remedy) in [
        ("a root of ZooKeeper's own", spelled("zookeeper://", "/zookeeper"), "/simba"),
        ("another scheme", spelled("redis://", ""), "zookeeper://host:2181"),
        ("a parameter", spelled("zookeeper://", "?password=x"), "it takes keep_alive"),
        ("a user without a password", format!("zookeeper://{APP_PASSWORD}@{hosts}"), "user:password@"),
        ("two logins", server.url().replace('@', &format!("@{APP_PASSWORD}:x@")), "%40 for @"),
        ("no host", format!("zookeeper://app:{APP_PASSWORD}@"), "zookeeper://host:2181"),
    ] {
        found.push(refused(situation, &url, ErrorKind::Config, remedy).await);
    }
    let nobody = format!("zookeeper://app:{APP_PASSWORD}@127.0.0.1:1");
    found.push(refused("a refused port", &nobody, ErrorKind::Unavailable, "check hosts and ports").await);
    found
}
