//! What goes wrong is told at once, by the path of the node that it is about, and nothing is lost by it.

use std::time::Duration;

use simba_backends::{ErrorKind, LeaseBackend, Metadata, Release, zookeeper::ZooKeeperBackend};
use simba_servers::APP_PASSWORD;
use zookeeper_client::{Acl, Acls, AuthId, CreateMode, Permission};

use crate::{
    Storage,
    client::{Client, LONG, at_once, group, name, names},
    zookeeper_kit::fixture::{log_in, usual},
};

fn everybody(permission: Permission) -> Acl {
    Acl::new(permission, AuthId::new("world", "anyone"))
}

#[tokio::test]
async fn a_permission_that_is_taken_away_is_missed_by_path_and_what_is_held_stays() {
    let server = storage().await;
    let (operator, root) = (server.operator().await, server.root());
    let client = Client::open(server.backend().await).await;
    let (held, g) = (name("held"), group("g"));
    let token = client.granted(&held).await;
    client.backend.join(&client.session, &g).await.unwrap();
    let parents = [root.leases(), root.groups(), root.group(&g), root.sessions()];
    let mut before = Vec::new();
    for parent in &parents {
        before.push(operator.acl(parent).await);
        operator.set_acl(parent, Acls::new(&[everybody(Permission::WRITE)])).await;
    }

    let free = name("free");
    let error = client.not_acquired(&free).await;
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error:?}");
    names(&error, &root.lease(&free));
    let Release::Failed(error) = at_once(client.release(&held, token)).await else { panic!("released") };
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error:?}");
    names(&error, &root.lease(&held));
    let (backend, session) = (&client.backend, &client.session);
    for (error, path) in [
        (at_once(backend.join(session, &group("h"))).await.unwrap_err(), root.group("h")),
        (at_once(backend.leave(session, &g)).await.unwrap_err(), root.member(&g, session)),
        (at_once(backend.members(&g)).await.unwrap_err(), root.group(&g)),
        (at_once(server.builder().connect()).await.unwrap_err(), root.leases()),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error:?}");
        names(&error, &path);
    }
    let error = at_once(backend.open_session(LONG, &Metadata::default())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error:?}");
    assert!(error.to_string().contains(&format!("on {}/", root.sessions())), "{error}");

    assert_eq!(client.owned().await, [(held.clone(), token)]);
    for (parent, acl) in parents.iter().zip(&before) {
        operator.set_acl(parent, Acls::new(acl)).await;
    }
    assert!(matches!(client.release(&held, token).await, Release::Gone), "nothing has to be set up anew");
    assert!(client.granted(&held).await > token);
    assert_eq!(backend.members(&g).await.unwrap().len(), 1);
    assert_eq!(operator.children(&root.sessions()).await, [session.as_str()], "no half session is left");
}

#[tokio::test]
async fn who_has_other_credentials_is_refused_by_path_and_disturbs_nobody() {
    let server = storage().await;
    let root = server.root();
    let other = log_in(server.place.zookeeper.url(), "other", "secret-of-other");
    let first = Client::open(server.backend().await).await;
    let token = first.granted(&name("n")).await;
    let error = at_once(ZooKeeperBackend::connect(&other)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error:?}");
    names(&error, &root.leases());
    assert!(!format!("{error} {error:?}").contains("secret-of"), "{error:?}");

    // Parents that all may use, with nodes in them that are one's own.
    let operator = server.operator().await;
    for parent in [root.leases(), root.groups(), root.sessions()] {
        operator.set_acl(&parent, Acls::anyone_all()).await;
    }
    let second = Client::open(ZooKeeperBackend::connect(&other).await.unwrap()).await;
    let error = second.not_acquired(&name("n")).await;
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error:?}");
    names(&error, &root.lease("n"));
    let error = at_once(second.backend.inspect(&name("n"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error:?}");
    names(&error, &root.lease("n"));
    let theirs = second.granted(&name("m")).await;
    assert!(matches!(second.release(&name("n"), token).await, Release::Gone), "it is not theirs");

    first.backend.join(&first.session, &group("g")).await.unwrap();
    for error in [
        at_once(second.backend.join(&second.session, &group("g"))).await.unwrap_err(),
        at_once(second.backend.members(&group("g"))).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error:?}");
        assert!(error.to_string().contains(&root.group("g")), "{error}");
    }
    assert_eq!(first.owned().await, [(name("n"), token)]);
    assert_eq!(second.owned().await, [(name("m"), theirs)]);
}

#[tokio::test]
async fn a_quota_that_is_used_up_is_told_of_and_what_is_held_stays() {
    let server = Storage::with(usual().set("enforceQuota", "true")).await;
    let (operator, root) = (server.operator().await, server.root());
    let client = Client::open(server.backend().await).await;
    let token = client.granted(&name("held")).await;
    let quota = format!("/zookeeper/quota{}", root.0);
    operator.0.mkdir(&quota, &CreateMode::Persistent.with_acls(Acls::anyone_all())).await.unwrap();
    for (node, data) in [("limits", "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1"), ("stats", "")] {
        let data = if data.is_empty() { "count=0,bytes=0" } else { data };
        let path = format!("{quota}/zookeeper_{node}");
        operator.create(&path, CreateMode::Persistent, data.as_bytes()).await;
    }
    let error = client.not_acquired(&name("free")).await;
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error:?}");
    names(&error, &root.lease("free"));
    let error = at_once(client.backend.join(&client.session, &group("g"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error:?}");
    names(&error, &root.group("g"));
    assert_eq!(client.owned().await, [(name("held"), token)]);
    assert!(matches!(client.release(&name("held"), token).await, Release::Gone), "releases need no room");
}

#[tokio::test]
async fn leases_under_an_ephemeral_node_are_refused_by_path_until_it_is_gone() {
    let server = storage().await;
    let (operator, root) = (server.operator().await, server.root());
    let client = Client::open(server.backend().await).await;
    assert!(operator.delete(&root.leases()).await);
    operator.create(&root.leases(), CreateMode::Ephemeral, b"").await;
    let error = client.not_acquired(&name("n")).await;
    assert_eq!(error.kind(), ErrorKind::Schema, "{error:?}");
    names(&error, &root.lease("n"));
    let error = at_once(server.builder().connect()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    names(&error, &root.leases());
    assert!(operator.delete(&root.leases()).await);
    client.granted(&name("n")).await;
}

#[tokio::test]
async fn an_acl_that_the_server_does_not_take_is_told_of_by_path() {
    let server = storage().await;
    let url = server.place.zookeeper.url();
    let creator = || Acl::new(Permission::ALL, AuthId::new("auth", ""));
    for (situation, acl) in [
        ("no rights for anybody", vec![]),
        ("an unknown scheme", vec![Acl::new(Permission::ALL, AuthId::new("no-scheme", "x"))]),
        ("rights of the creator, who is nobody", vec![creator()]),
    ] {
        let builder = ZooKeeperBackend::builder(url).unwrap().acl(move |_| acl.clone());
        let error = at_once(builder.connect()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{situation}: {error:?}");
        names(&error, &server.root().0);
    }
    let error = at_once(ZooKeeperBackend::builder(url).unwrap().root("/zookeeper/simba").connect()).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error:?}");
    names(&error, "/zookeeper/simba");
    assert!(server.operator().await.children(&server.root().0).await.is_empty(), "nothing was left");
}

#[tokio::test]
async fn no_password_is_shown_or_logged() {
    let log = crate::log::Log::keep();
    let server = Storage::with(usual().set("minSessionTimeout", "60000")).await;
    let builder = server.builder().auth("digest", format!("second:{APP_PASSWORD}"));
    let mut shown = format!("{builder:?}");
    let client = Client::open(builder.connect().await.unwrap()).await;
    client.granted(&name("n")).await;
    shown += &format!("{:?} {:?}", client.backend, client.backend.warnings());
    server.operator().await.create(&server.root().lease("m"), CreateMode::Persistent, b"").await;
    shown += &format!("{:?}", client.not_acquired(&name("m")).await);
    let wrong = log_in(server.place.zookeeper.url(), "app", "secret-of-nobody");
    shown += &format!("{:?}", ZooKeeperBackend::connect(&wrong).await.unwrap_err());
    server.place.proxy.refuse().await;
    let lost = client.backend.open_session(LONG, &Metadata::default()).await;
    shown += &format!("{:?}", lost.unwrap_err());
    server.place.proxy.heal().await;
    client.backend.close_session(&client.session).await.unwrap();
    // Shorter than any session there.
    let lease = Duration::from_secs(5);
    client.backend.open_session(lease, &Metadata::default()).await.unwrap();
    let logged = log.text();
    assert!(logged.contains("minSessionTimeout"), "what is logged is kept: {logged}");
    for shown in [shown, logged] {
        assert!(!shown.contains("secret-of"), "{shown}");
    }
}

/// One that nobody else uses.
async fn storage() -> Storage {
    let storage = Storage::with(usual()).await;
    assert!(storage.place.zookeeper.pid().is_some(), "what others made is left alone");
    storage
}
