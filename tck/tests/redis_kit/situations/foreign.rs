//! What Simba cannot have written, at each kind of its keys: told of, left as it is, in nobody else's way.

use simba_backends::{Acquisition, BackendError, ErrorKind, KeepAlive, Release};
use simba_tck::Fixture;

use crate::{
    Storage,
    peer::{LONG, Peer, name, names},
    redis_kit::keys,
};

/// What is put at a lease's key, and what is said of it.
const LEASES: [(&str, &str); 9] = [
    ("SET {} x", "of another type"),
    ("LPUSH {} x", "of another type"),
    ("HSET {} token seven", "token that is no number"),
    ("HSET {} token -7", "token that is no number"),
    ("HSET {} token 1.5", "token that is no number"),
    ("HSET {} token 99999999999999999", "token that is no number"),
    ("HSET {} session aa expires 99999999999999", "no token"),
    ("HSET {} session aa token 7", "no expiry"),
    ("HSET {} session aa token 7 expires 99999999999999999999", "expiry that is no number"),
];

/// A value as the server keeps it.
async fn dump(server: &Storage, key: &str) -> Vec<u8> {
    server.operator_of(key).await.ask(&format!("DUMP {key}")).await
}

async fn put(server: &Storage, key: &str, command: &str) -> Vec<u8> {
    server.operator_of(key).await.run(&command.replace("{}", key)).await;
    dump(server, key).await
}

fn told(error: &BackendError, key: &str) {
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    assert!(error.to_string().contains(key), "which key? {error}");
}

#[tokio::test]
async fn a_foreign_lease_is_named_and_left_and_the_others_of_the_call_go_on() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    for (number, (command, reason)) in LEASES.into_iter().enumerate() {
        let all = names(&format!("n{number}"), 5);
        let key = keys::lease(&all[2]);
        let before = put(&server, &key, command).await;
        let mut answers = mine.acquire_all(&all).await;
        answers.sort_by(|(a, _), (b, _)| a.cmp(b));
        let Acquisition::Failed(error) = answers.remove(2).1 else { panic!("{command}") };
        told(&error, &key);
        assert!(error.to_string().contains(reason), "{command}: {error}");
        let granted: Vec<_> = answers
            .into_iter()
            .map(|(name, answer)| match answer {
                Acquisition::Granted { token, .. } => (name, token),
                Acquisition::AlreadyOwned { .. } | Acquisition::Held { .. } | Acquisition::Failed(_) => {
                    panic!("{name} beside {command}: {answer:?}")
                }
            })
            .collect();
        told(&mine.backend.inspect(&all[2]).await.unwrap_err(), &key);
        let mut released = granted.clone();
        released.push((all[2].clone(), 7.try_into().unwrap()));
        for (name, release) in mine.backend.release(&mine.session, &released).await.unwrap() {
            match release {
                Release::Gone => assert_ne!(name, all[2]),
                Release::Failed(error) => told(&error, &key),
            }
        }
        assert_eq!(mine.owned().await.unwrap(), [], "{command}");
        assert_eq!(dump(&server, &key).await, before, "{command}: it was changed");
    }
}

#[tokio::test]
async fn a_lease_that_turns_foreign_while_held_is_unknown_and_the_others_are_kept() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let all = names("n", 5);
    mine.acquire_all(&all).await;
    let key = keys::lease(&all[2]);
    let before = put(&server, &key, "HSET {} token seven").await;
    for _ in 0..2 {
        match mine.backend.keep_alive(&mine.session, LONG).await.unwrap() {
            KeepAlive::Live { owned, unknown, .. } => {
                assert_eq!((owned.len(), unknown), (4, vec![all[2].clone()]));
            }
            KeepAlive::Expired => panic!("one foreign lease expires no session"),
        }
    }
    assert_eq!(dump(&server, &key).await, before);
    mine.backend.close_session(&mine.session).await.unwrap();
    assert_eq!(dump(&server, &key).await, before, "a close changed it");
}

#[tokio::test]
async fn a_foreign_session_is_named_and_left() {
    let server = Storage::fresh().await;
    let backend = server.connect().await;
    let (n, other) = (name("n"), Peer::open(backend.clone(), LONG).await);
    for command in ["SET {} x", "SADD {} x", "PERSIST {}", "HDEL {} lease", "HSET {} lease long"] {
        let mine = Peer::open(backend.clone(), LONG).await;
        let key = keys::session(&mine.session);
        if !command.ends_with("} x") {
            put(&server, &key, command).await;
        } else {
            put(&server, &key, "DEL {}").await;
            put(&server, &key, command).await;
        }
        let before = dump(&server, &key).await;
        told(&backend.keep_alive(&mine.session, LONG).await.unwrap_err(), &key);
        let acquire = backend.acquire(&mine.session, std::slice::from_ref(&n)).await;
        told(&acquire.map(|_| ()).unwrap_err(), &key);
        told(&backend.join(&mine.session, &"g".parse().unwrap()).await.map(|_| ()).unwrap_err(), &key);
        assert_eq!(dump(&server, &key).await, before, "{command}: it was changed");
        assert_eq!(server.keys("simba:*{n}").await, Vec::<String>::new(), "{command}: a lease was taken");
    }
    other.granted(&n).await;
}

#[tokio::test]
async fn a_foreign_index_is_named_and_left() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let (leases, groups) = (keys::leases_of(&mine.session), keys::groups_of(&mine.session));
    let before = put(&server, &leases, "SET {} x").await;
    let acquire = mine.backend.acquire(&mine.session, &[name("n")]).await;
    told(&acquire.map(|_| ()).unwrap_err(), &leases);
    assert_eq!(server.keys("simba:lease:*").await, Vec::<String>::new(), "a lease was taken all the same");
    told(&mine.backend.keep_alive(&mine.session, LONG).await.unwrap_err(), &leases);
    assert_eq!(dump(&server, &leases).await, before);
    put(&server, &leases, "DEL {}").await;
    mine.granted(&name("n")).await;

    let before = put(&server, &groups, "SET {} x").await;
    let join = mine.backend.join(&mine.session, &"g".parse().unwrap()).await;
    told(&join.map(|_| ()).unwrap_err(), &groups);
    assert_eq!(server.keys("simba:group:*").await, Vec::<String>::new(), "it joined all the same");
    assert_eq!(dump(&server, &groups).await, before);
}

#[tokio::test]
async fn a_foreign_group_is_named_and_left_and_costs_its_members_no_lease() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let key = keys::group("g");
    let (g, n) = ("g".parse().unwrap(), name("n"));
    let token = mine.granted(&n).await;
    mine.backend.join(&mine.session, &g).await.unwrap();
    mine.backend.join(&mine.session, &"h".parse().unwrap()).await.unwrap();
    put(&server, &key, "DEL {}").await;
    let before = put(&server, &key, "SET {} x").await;
    told(&mine.backend.join(&mine.session, &g).await.map(|_| ()).unwrap_err(), &key);
    told(&mine.backend.members(&g).await.map(|_| ()).unwrap_err(), &key);
    match mine.backend.keep_alive(&mine.session, LONG).await.unwrap() {
        KeepAlive::Live { owned, groups, .. } => {
            assert_eq!(owned, [(n, token)]);
            assert!(groups.contains(&"h".parse().unwrap()), "{groups:?}");
        }
        KeepAlive::Expired => panic!("one foreign group expires no session"),
    }
    assert_eq!(dump(&server, &key).await, before);
}
