//! The nodes that are kept: those of the reference, each with what it says, and none when nobody needs it.

use simba_backends::LeaseBackend;
use simba_tck::{Census, Fixture};

use crate::{
    Storage,
    client::{Client, LONG, group, name},
    fixture::{Custom, Server, Usual, Writing, usual},
    zookeeper_kit::ways::Alone,
};

#[tokio::test]
async fn leases_memberships_and_metadata_are_ephemeral_nodes_of_their_session() {
    let server = Storage::fresh().await;
    let (operator, root) = (server.operator().await, server.root());
    let backend = server.backend().await;
    let metadata = "where: naïve 漢字".parse().unwrap();
    let session = backend.open_session(LONG, &metadata).await.unwrap().session;
    let client = Client { backend, session };
    let number = i64::from_str_radix(client.session.as_str(), 16).unwrap();
    assert_eq!(client.session.as_str(), format!("{number:016x}"));
    let token = client.granted(&name("n")).await;
    client.backend.join(&client.session, &group("g")).await.unwrap();

    let id = client.session.as_str().as_bytes();
    for (path, data) in [
        (root.lease("n"), id),
        (root.member("g", &client.session), id),
        (root.session(&client.session), metadata.as_str().as_bytes()),
    ] {
        let (kept, stat) = operator.get(&path).await.unwrap();
        assert_eq!((kept.as_slice(), stat.ephemeral_owner), (data, number), "{path}");
        if path == root.lease("n") {
            assert_eq!(stat.czxid, token.as_i64());
        }
    }
    for path in [root.0.clone(), root.leases(), root.groups(), root.sessions()] {
        let (_, stat) = operator.get(&path).await.unwrap();
        assert_eq!(stat.ephemeral_owner, 0, "{path} belongs to nobody");
    }
}

#[tokio::test]
async fn what_ended_leaves_nothing_behind_and_what_lives_stays() {
    let server = Storage::fresh().await;
    let lives = Client::open(server.backend().await).await;
    lives.granted(&name("lives")).await;
    lives.backend.join(&lives.session, &group("lives")).await.unwrap();
    let dies = Client::open(server.backend().await).await;
    for number in 0..3 {
        dies.granted(&name(&format!("dies-{number}"))).await;
        dies.backend.join(&dies.session, &group(&format!("dies-{number}"))).await.unwrap();
    }
    let living = Census { sessions: 1, memberships: 1, tokens: 1 };
    let all = Census { sessions: 2, memberships: 4, tokens: 4 };
    assert_eq!(server.census().await, Ok(all));
    dies.backend.close_session(&dies.session).await.unwrap();
    assert_eq!(server.census().await, Ok(living));
    let (operator, groups) = (server.operator().await, server.root().groups());
    for _ in 0..500 {
        if operator.children(&groups).await == ["lives"] {
            return;
        }
        server.pass(std::time::Duration::from_millis(20)).await;
    }
    panic!("the groups that are empty are not gone: {:?}", operator.children(&groups).await);
}

/// How many transactions some keep-alives take.
async fn written<C: Custom>(keep_alives: i64) -> i64 {
    let server = Server::<Alone, C>::with(usual()).await;
    let client = Client::open(server.backend().await).await;
    let names: Vec<_> = (0..1000).map(|number| name(&format!("n{number}"))).collect();
    client.backend.acquire(&client.session, &names).await.unwrap();
    let (operator, path) = (server.operator().await, server.root().lease("probe"));
    let last = async || {
        let stat = operator.create(&path, zookeeper_client::CreateMode::Ephemeral, b"").await;
        operator.delete(&path).await;
        stat.czxid
    };
    let before = last().await;
    for _ in 0..keep_alives {
        assert_eq!(client.owned().await.len(), names.len());
    }
    last().await - before
}

#[tokio::test]
async fn a_keep_alive_writes_nothing_unless_it_is_told_to() {
    // What looks takes two itself, and a parent more.
    let looks = written::<Usual>(0).await;
    assert_eq!(written::<Usual>(5).await, looks);
    assert_eq!(written::<Writing>(5).await, looks + 5);
}
