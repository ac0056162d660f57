//! Ways to use Redis wrongly.

use simba_backends::{BackendError, ErrorKind, LeaseBackend, redis::RedisBackend};
use simba_servers::APP_PASSWORD;
use simba_tck::Misuse;

use super::{
    deployment::Deployment,
    fixture::{Custom, Server},
    keys,
    operator::Operator,
};

/// What the user may not do, and what somebody reads who has to grant it.
const LIMITS: [(&str, &str, &str); 6] = [
    ("EVALSHA forbidden", "-evalsha", "+evalsha"),
    ("HSET forbidden", "-hset", "+hset"),
    ("PUBLISH forbidden", "-publish", "+publish"),
    ("scripts forbidden", "-@scripting", "+eval"),
    ("keys of somebody else", "resetkeys ~other:*", "~simba:*"),
    ("channels of somebody else", "resetchannels &other:*", "&simba:*"),
];

pub(super) async fn all<D: Deployment, C: Custom<D>>(server: &Server<D, C>) -> Vec<Misuse> {
    let url = server.url();
    let wrong = url.replace(APP_PASSWORD, "wr0ng");
    let mut found = vec![refused("a wrong password", &wrong, ErrorKind::Unauthorized, "password").await];
    found[0].secret = Some("wr0ng".to_owned());
    let nobody = url.replace("app:", "nobody:");
    found.push(refused("an unknown user", &nobody, ErrorKind::Unauthorized, "user and password").await);
    if server.place.own().is_ok() {
        found.extend(limits(server).await);
    }
    for (situation, url, remedy) in server.place.mistaken_urls() {
        found.push(refused(situation, &url, ErrorKind::Config, remedy).await);
    }
    found.extend(foreign_data(server).await);
    found
}

/// Users of their own, so they need a server of its own.
async fn limits<D: Deployment, C: Custom<D>>(server: &Server<D, C>) -> Vec<Misuse> {
    let mut found = Vec::new();
    for (number, (situation, limit, remedy)) in LIMITS.into_iter().enumerate() {
        let user = format!("limited{number}");
        for admin in server.place.all() {
            let rights = format!("ACL SETUSER {user} on >{APP_PASSWORD} ~simba:* &simba:* +@all {limit}");
            Operator::at(&admin).await.run(&rights).await;
        }
        let url = server.url().replace("app:", &format!("{user}:"));
        found.push(refused(situation, &url, ErrorKind::Unauthorized, remedy).await);
    }
    found
}

async fn refused(situation: &'static str, url: &str, kind: ErrorKind, remedy: &'static str) -> Misuse {
    let error = match RedisBackend::connect(url).await {
        Ok(_) => panic!("{situation}: connected"),
        Err(error) => error,
    };
    Misuse { situation, error, kind, remedy, secret: Some(APP_PASSWORD.to_owned()) }
}

async fn foreign_data<D: Deployment, C: Custom<D>>(server: &Server<D, C>) -> Vec<Misuse> {
    for (name, fields) in [
        ("text", "token seven"),
        ("negative", "token -7"),
        ("tokenless", "session 00 expires 99999999999999"),
        ("holder", "session not,an,id token 7 expires 99999999999999"),
        ("endless", "session 00 token 7"),
    ] {
        let key = keys::lease(name);
        server.operator_of(&key).await.run(&format!("HSET {key} {fields}")).await;
    }
    for key in [keys::lease("list"), keys::group("list")] {
        server.operator_of(&key).await.run(&format!("LPUSH {key} x")).await;
    }
    let backend = server.backend().await;
    let mut found = Vec::new();
    for (situation, name) in [
        ("a token that is text", "text"),
        ("a negative token", "negative"),
        ("no token", "tokenless"),
        ("a holder that is no session", "holder"),
        ("a holder and no expiry", "endless"),
        ("another type", "list"),
    ] {
        let error = backend.inspect(&name.parse().unwrap()).await.unwrap_err();
        assert!(error.to_string().contains(&keys::lease(name)), "{situation}: {error}");
        found.push(corrupt(situation, error));
    }
    let error = backend.members(&"list".parse().unwrap()).await.unwrap_err();
    assert!(error.to_string().contains(&keys::group("list")), "{error}");
    found.push(corrupt("a group of another type", error));
    found
}

fn corrupt(situation: &'static str, error: BackendError) -> Misuse {
    let secret = Some(APP_PASSWORD.to_owned());
    Misuse { situation, error, kind: ErrorKind::Corrupt, remedy: "look at the key", secret }
}
