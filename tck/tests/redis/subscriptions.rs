//! Subscriptions: what is subscribed to when, and what a source is told.

use std::{future::poll_fn, pin::Pin, sync::Arc, time::Duration};

use redis::{FromRedisValue, from_redis_value};
use simba_backends::{Hint, HintSource, SessionId, redis::RedisBackend};
use simba_servers::{Proxy, Redis, RedisCluster};
use tokio::time::{sleep, timeout};

use crate::peer::{LONG, Peer, eventually, hinted, listening as gap, name, names, next};

/// Longer than a hint takes that must not come.
const QUIET: Duration = Duration::from_millis(300);

/// How long a subscription outlasts its last want, at most.
const LINGER: Duration = Duration::from_secs(2);

/// Reads for a while and expects nothing.
async fn silent(hints: &mut dyn HintSource) {
    if let Ok(hint) = timeout(QUIET, poll_fn(|cx| Pin::new(&mut *hints).poll_next(cx))).await {
        panic!("unexpected: {hint:?}");
    }
}

/// A session with a client of its own.
async fn peer(url: &str, prefix: &str) -> Peer {
    Peer::open(Arc::new(connect(url, prefix).await), LONG).await
}

async fn connect(url: &str, prefix: &str) -> RedisBackend {
    let builder = RedisBackend::builder(url).unwrap().prefix(prefix);
    builder.call_timeout(Duration::from_secs(2)).connect().await.unwrap()
}

/// A server, and a prefix that no other test's channels have.
struct Server {
    redis: Redis,
    prefix: String,
}

impl Server {
    async fn start() -> Self {
        Self { redis: Redis::start().await, prefix: format!("simba:{}:", SessionId::random()) }
    }

    async fn peer(&self) -> Peer {
        peer(self.redis.url(), &self.prefix).await
    }

    async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        from_redis_value(self.redis.execute(words).await.unwrap()).unwrap()
    }

    async fn channels(&self) -> usize {
        self.ask::<Vec<String>>(&["PUBSUB", "CHANNELS", &format!("{}*", self.prefix)]).await.len()
    }

    async fn subscribed(&self, count: usize) {
        eventually("all is subscribed to", async || self.channels().await == count).await;
    }
}

#[tokio::test]
async fn a_name_that_was_freed_before_it_was_wanted_is_hinted_and_a_held_one_is_not() {
    let server = Server::start().await;
    let (mine, other) = (server.peer().await, server.peer().await);
    let (n, held) = (name("n"), name("held"));
    other.granted(&held).await;
    let mut hints = mine.hints();
    hints.want(&n);
    hints.want(&held);
    hinted(&mut *hints, &n).await;
    let token = other.granted(&n).await;
    // Nobody wants it while it is freed, and the subscription is still there.
    hints.unwant(&n);
    other.release(&n, token).await;
    silent(&mut *hints).await;
    hints.want(&n);
    hinted(&mut *hints, &n).await;
    other.granted(&n).await;
    hints.unwant(&n);
    hints.want(&n);
    silent(&mut *hints).await;
    assert_eq!(server.channels().await, 2);
}

/// As two that contend for a lease do: who held it wants it again a moment later.
#[tokio::test]
async fn what_is_wanted_again_and_again_stays_subscribed_to() {
    let server = Server::start().await;
    let (mine, other) = (server.peer().await, server.peer().await);
    let n = name("n");
    let subscriptions = async || {
        let all: String = server.ask(&["INFO", "commandstats"]).await;
        let calls = all.lines().find_map(|line| line.strip_prefix("cmdstat_subscribe:calls="));
        calls.map_or(0, |calls| calls.split(',').next().unwrap().parse::<u64>().unwrap())
    };
    let before = subscriptions().await;
    let mut hints = mine.hints();
    let mut token = other.granted(&n).await;
    hints.want(&n);
    silent(&mut *hints).await;
    for _ in 0..200 {
        other.release(&n, token).await;
        hinted(&mut *hints, &n).await;
        let ours = mine.granted(&n).await;
        hints.unwant(&n);
        mine.release(&n, ours).await;
        token = other.granted(&n).await;
        hints.want(&n);
    }
    // Other tests may share the server.
    assert!(subscriptions().await - before < 100, "one for 200 wants");
    hints.unwant(&n);
    sleep(LINGER).await;
    eventually("no channel is left", async || server.channels().await == 0).await;
}

#[tokio::test]
async fn a_server_that_is_not_there_at_first_is_listened_to_once_it_is() {
    let server = Server::start().await;
    let proxy = Proxy::before(server.redis.address()).await;
    let mine = peer(&proxy.url(server.redis.url()), &server.prefix).await;
    let (other, n) = (server.peer().await, name("n"));
    let token = other.granted(&n).await;
    proxy.refuse().await;
    let mut hints = mine.hints();
    hints.want(&n);
    silent(&mut *hints).await;
    proxy.heal().await;
    server.subscribed(1).await;
    other.release(&n, token).await;
    hinted(&mut *hints, &n).await;
}

#[tokio::test]
async fn a_user_who_may_not_subscribe_hears_once_he_may() {
    let server = Server::start().await;
    let user = format!("u{}", SessionId::random());
    let set = async |rules: &[&str]| {
        let _: String = server.ask(&[&["ACL", "SETUSER", &user], rules].concat()).await;
    };
    set(&["on", ">secret", "~*", "+@all", "resetchannels"]).await;
    let (_, place) = server.redis.url().rsplit_once('@').unwrap();
    let url = format!("redis://{user}:secret@{place}");
    let channel = format!("&{}*", server.prefix);
    set(&[&channel]).await;
    let (mine, other, n) = (peer(&url, &server.prefix).await, server.peer().await, name("n"));
    set(&["resetchannels"]).await;
    let token = other.granted(&n).await;
    let mut hints = mine.hints();
    hints.want(&n);
    silent(&mut *hints).await;
    assert_eq!(server.channels().await, 0);
    set(&[&channel]).await;
    gap(&mut *hints).await;
    other.release(&n, token).await;
    hinted(&mut *hints, &n).await;
}

#[tokio::test]
async fn a_source_that_is_not_read_gets_a_gap_and_the_others_every_hint() {
    let server = Server::start().await;
    let (mine, other) = (server.peer().await, server.peer().await);
    let all = names("n", 1100);
    other.acquire_all(&all).await;
    let (mut stuck, mut reads) = (mine.hints(), mine.hints());
    all.iter().for_each(|name| stuck.want(name));
    silent(&mut *stuck).await;
    reads.want(&all[1099]);
    silent(&mut *reads).await;
    other.backend.close_session(&other.session).await.unwrap();
    hinted(&mut *reads, &all[1099]).await;
    eventually("all are free", async || mine.backend.inspect(&all[0]).await.unwrap().is_none()).await;
    assert_eq!(next(&mut *stuck).await, Hint::Gap);
}

/// Two sources of one backend, each on a runtime of its own.
#[test]
fn a_source_hears_on_when_the_runtime_that_listened_has_ended() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let (server, n) = (second.block_on(Server::start()), name("n"));
    let (mine, other) = second.block_on(async { (server.peer().await, server.peer().await) });
    let mut listens = mine.hints();
    first.block_on(silent(&mut *listens));
    let mut stays = mine.hints();
    second.block_on(async {
        let token = other.granted(&n).await;
        stays.want(&n);
        silent(&mut *stays).await;
        other.release(&n, token).await;
        hinted(&mut *stays, &n).await;
        let token = other.granted(&n).await;
        tokio::task::spawn_blocking(|| drop(first)).await.unwrap();
        // Once since nobody listens, once since somebody does again.
        gap(&mut *stays).await;
        gap(&mut *stays).await;
        other.release(&n, token).await;
        hinted(&mut *stays, &n).await;
    });
    drop(listens);
}

/// Wherever a lease is, and whichever node is listened to.
#[tokio::test]
async fn a_release_anywhere_in_a_cluster_is_heard() {
    let cluster = RedisCluster::start().await;
    let prefix = "simba:";
    let other = peer(cluster.url(), prefix).await;
    let all = names("n", 50);
    other.acquire_all(&all).await;
    for _ in 0..3 {
        let mine = peer(cluster.url(), prefix).await;
        let mut hints = mine.hints();
        all.iter().for_each(|name| hints.want(name));
        silent(&mut *hints).await;
        for name in &all {
            let holder = other.backend.inspect(name).await.unwrap().expect("it is held");
            other.release(name, holder.token).await;
            let Hint::Released { name: heard, waiters } = next(&mut *hints).await else { panic!("no gap") };
            assert_eq!(&heard, name);
            // Counted at each node, and no sooner than the first message.
            assert!(waiters.is_none_or(|waiters| waiters >= 1), "{waiters:?}");
            other.granted(name).await;
        }
    }
}
