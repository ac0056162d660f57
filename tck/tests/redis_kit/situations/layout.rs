//! Keys, fields and messages are those of the reference, step by step.

use std::time::Duration;

use ::redis::{Client, Value};
use futures_util::StreamExt;
use simba_backends::{Joined, SessionId};
use simba_tck::Fixture;
use tokio::time::timeout;

use crate::{
    Storage,
    peer::{BOUND, LONG, Peer, eventually, name},
    redis_kit::{deployment::Deployment, keys, operator::Operator},
};

/// What stands at a lease's key.
async fn fields(operator: &mut Operator, key: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = operator.ask(&format!("HGETALL {key}")).await;
    fields.sort();
    fields
}

fn text(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect()
}

async fn now(operator: &mut Operator) -> u64 {
    let (seconds, micros): (u64, u64) = operator.ask("TIME").await;
    seconds * 1000 + micros / 1000
}

async fn members(operator: &mut Operator, key: &str) -> Vec<String> {
    operator.ask(&format!("SMEMBERS {key}")).await
}

#[tokio::test]
async fn keys_and_fields_are_those_of_the_reference() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let (id, n) = (mine.session.clone(), name("a.b:C-1"));
    let (key, session) = (keys::lease(&n), keys::session(&id));
    let mut there = server.operator_of(&key).await;
    let mut home = server.operator_of(&session).await;
    assert_eq!(server.keys("*").await, [session.as_str()]);
    let left: u64 = home.ask(&format!("PTTL {session}")).await;
    assert!(left > 3_500_000 && left <= 3_600_000, "{left}");

    assert_eq!(mine.granted(&n).await.get(), 1);
    let latest = now(&mut there).await + 3_600_000;
    let held = fields(&mut there, &key).await;
    let expires = held[0].1.clone();
    assert_eq!(held, text(&[("expires", &expires), ("session", id.as_str()), ("token", "1")]));
    let expires: u64 = expires.parse().unwrap();
    assert!(expires > latest - 60_000 && expires <= latest, "{expires} {latest}");
    assert_eq!(there.ask::<i64>(&format!("PTTL {key}")).await, -1, "a lease never goes");
    assert_eq!(members(&mut home, &keys::leases_of(&id)).await, [n.as_str()]);

    mine.release(&n, 1.try_into().unwrap()).await;
    assert_eq!(fields(&mut there, &key).await.last(), Some(&("token".to_owned(), "1".to_owned())));
    assert!(!fields(&mut there, &key).await.iter().any(|(field, _)| field == "session"));
    assert_eq!(mine.granted(&n).await.get(), 2);
    the_group_of_a_session_and_its_end(&server, &mine, &key).await;
}

async fn the_group_of_a_session_and_its_end(server: &Storage, mine: &Peer, lease: &str) {
    let (id, key) = (&mine.session, keys::group("crew"));
    assert_eq!(mine.backend.join(id, &"crew".parse().unwrap()).await.unwrap(), Joined::Member);
    let mut there = server.operator_of(&key).await;
    let (member, score): (String, u64) = there.ask(&format!("ZRANGE {key} 0 -1 WITHSCORES")).await;
    assert_eq!(member, id.as_str());
    assert!(score > now(&mut there).await + 3_500_000, "{score}");
    let mut home = server.operator_of(&keys::session(id)).await;
    assert_eq!(members(&mut home, &keys::groups_of(id)).await, ["crew"]);
    mine.backend.close_session(id).await.unwrap();
    assert_eq!(server.keys("*").await, [lease], "its token stays, and nothing else");
    let mut there = server.operator_of(lease).await;
    assert_eq!(fields(&mut there, lease).await.last(), Some(&("token".to_owned(), "2".to_owned())));
}

#[tokio::test]
async fn a_release_and_a_close_publish_released_on_the_leases_channel() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let (released, closed) = (name("released"), name("closed"));
    let url = server.place.primaries().await.pop().unwrap();
    let mut listener = Client::open(url).unwrap().get_async_pubsub().await.unwrap();
    // Who connects publishes once, too, to see whether it may.
    listener.subscribe(&[keys::lease(&released), keys::lease(&closed)]).await.unwrap();
    let token = mine.granted(&released).await;
    mine.granted(&closed).await;
    mine.release(&released, token).await;
    mine.backend.close_session(&mine.session).await.unwrap();
    let mut heard = listener.on_message();
    for name in [released, closed] {
        let message = timeout(BOUND, heard.next()).await.expect("it is heard").unwrap();
        assert_eq!(message.get_channel_name(), keys::lease(&name));
        assert_eq!(message.get_payload::<String>().unwrap(), "released");
    }
}

#[tokio::test]
async fn a_lease_that_a_jvm_node_holds_is_respected_and_what_it_released_is_taken() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let theirs = SessionId::random();
    let session = keys::session(&theirs);
    let mut home = server.operator_of(&session).await;
    home.run(&format!("HSET {session} owner jvm")).await;
    home.run(&format!("PEXPIRE {session} 60000")).await;
    for (end, last) in [("HDEL {} session", "41"), ("HSET {} session", "999999999")] {
        let n = name(format!("n{last}"));
        let key = keys::lease(&n);
        let mut there = server.operator_of(&key).await;
        let expires = now(&mut there).await + 60_000;
        there.run(&format!("HSET {key} session {theirs} token {last} expires {expires}")).await;
        let holder = mine.holder(&n).await.expect("it is held");
        assert_eq!((holder.session, holder.token.get().to_string()), (theirs.clone(), last.to_owned()));
        assert!(holder.free_in.is_some_and(|free_in| free_in <= Duration::from_secs(60)));
        assert!(mine.is_held(&n).await);

        let end = end.replace("{}", &key);
        let mut words: Vec<_> = end.split(' ').collect();
        if words[0] == "HSET" {
            words.push("");
        }
        let _: Value = there.words(&words).await;
        assert_eq!(mine.holder(&n).await, None);
        assert_eq!(mine.granted(&n).await.get(), last.parse::<u64>().unwrap() + 1);
        assert_eq!(fields(&mut there, &key).await.len(), 3);
    }
    let n = name("expired");
    let key = keys::lease(&n);
    let mut there = server.operator_of(&key).await;
    let expires = now(&mut there).await - 1;
    there.run(&format!("HSET {key} session {theirs} token 7 expires {expires}")).await;
    assert_eq!(mine.granted(&n).await.get(), 8);
}

#[tokio::test]
async fn another_prefix_is_another_world() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let other = server.builder().prefix("simba:shop:").connect().await.unwrap();
    let other = Peer::open(std::sync::Arc::new(other), LONG).await;
    let n = name("n");
    let token = mine.granted(&n).await;
    assert_eq!(other.granted(&n).await, token, "it is free there");
    assert_eq!(server.keys("simba:*lease:{n}").await, ["simba:lease:{n}", "simba:shop:lease:{n}"]);
    mine.release(&n, token).await;
    assert_eq!(other.owned().await.unwrap(), [(n.clone(), token)]);
    eventually("nothing of it is left", async || {
        other.backend.close_session(&other.session).await.unwrap();
        server.keys("simba:shop:*").await == ["simba:shop:lease:{n}"]
    })
    .await;
    assert!(other.owned().await.is_none());
    mine.granted(&n).await;
}
