//! Terms that count only once a replica has them.

use std::{sync::Arc, time::Duration};

use simba_backends::{
    Acquisition, BackendError, ErrorKind, LeaseBackend, Metadata, Outcome, redis::RedisBackend,
};
use simba_servers::{Options, Redis};
use tokio::time::timeout;

use crate::{
    peer::{BOUND, LONG, Peer, eventually, name, names},
    redis_kit::{
        deployment::Deployment,
        fixture::{Custom, Kept, Server},
        ways::Alone,
    },
};

/// Every grant and every keep-alive waits for the replica.
struct Replicated;

impl Custom<Alone> for Replicated {
    fn parameters() -> &'static str {
        "?wait_replicas=1"
    }

    async fn prepare(place: &Alone) -> Kept {
        Box::new(place.redis.replica().await.unwrap())
    }
}

all_races!(replicated, Server<Alone, Replicated>);

struct Pair {
    primary: Redis,
    replica: Redis,
}

impl Pair {
    async fn start() -> Self {
        let primary = Alone::start(Options::new()).await.redis;
        let pair = Self { replica: primary.replica().await.unwrap(), primary };
        // A replica confirms its first second late.
        pair.backend(BOUND).await;
        pair
    }

    async fn backend(&self, call_timeout: Duration) -> Arc<dyn LeaseBackend> {
        let builder = RedisBackend::builder(self.primary.url()).unwrap().wait_replicas(1);
        Arc::new(builder.call_timeout(call_timeout).connect().await.unwrap())
    }
}

fn not_replicated<T>(answer: Result<T, BackendError>, what: &str) {
    let Err(error) = answer else { panic!("{what} counted, and no replica has it") };
    assert!(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout), "{what}: {error:?}");
    assert_eq!(error.outcome(), Outcome::Unknown, "{what}: {error:?}");
}

#[tokio::test]
async fn with_the_link_cut_nothing_counts_until_it_is_back() {
    let pair = Pair::start().await;
    let mine = Peer::open(pair.backend(Duration::from_secs(1)).await, LONG).await;
    let (n, m) = (name("n"), name("m"));
    let token = mine.granted(&n).await;
    assert_eq!(mine.owned().await.unwrap(), [(n.clone(), token)]);

    pair.primary.refuse_replicas().await.unwrap();
    not_replicated(mine.backend.acquire(&mine.session, std::slice::from_ref(&m)).await, "a grant");
    not_replicated(mine.backend.keep_alive(&mine.session, LONG).await, "a keep-alive");
    // Twice: the first repeat must not make the second look as if it were replicated.
    for _ in 0..2 {
        not_replicated(mine.backend.acquire(&mine.session, std::slice::from_ref(&m)).await, "a repeat");
    }
    mine.backend.inspect(&n).await.expect("reads go on");
    let late = pair.backend(Duration::from_secs(1)).await;
    let told = late.warnings();
    assert!(told.iter().any(|warning| warning.contains("fewer replicas")), "{told:?}");

    pair.primary.accept_replicas().await.unwrap();
    eventually("it goes on", async || mine.backend.keep_alive(&mine.session, LONG).await.is_ok()).await;
    let answer = mine.acquire(&m).await;
    assert!(matches!(answer, Acquisition::Granted { .. } | Acquisition::AlreadyOwned { .. }), "{answer:?}");
    assert_eq!(mine.owned().await.unwrap().len(), 2);
}

/// Whoever waits for a replica for long holds up nothing that needs none.
#[tokio::test]
async fn a_big_patience_holds_up_no_other_call() {
    let pair = Pair::start().await;
    let backend = pair.backend(BOUND * 100).await;
    let mine = Peer::open(backend.clone(), LONG).await;
    let n = name("n");
    let token = mine.granted(&n).await;
    let link = pair.replica.link().unwrap();
    link.black_hole().await;
    let waiting = tokio::spawn({
        let mine = mine.clone();
        async move { mine.acquire_all(&names("m", 3)).await }
    });
    let keeping = tokio::spawn({
        let mine = mine.clone();
        async move { mine.owned().await }
    });
    eventually("it was granted", async || backend.inspect(&name("m-00001")).await.unwrap().is_some()).await;
    let others = async {
        backend.release(&mine.session, &[(n.clone(), token)]).await.unwrap();
        assert_eq!(backend.inspect(&n).await.unwrap(), None);
        assert_eq!(backend.members(&"g".parse().unwrap()).await.unwrap(), []);
        backend.join(&mine.session, &"g".parse().unwrap()).await.unwrap();
    };
    timeout(BOUND, others).await.expect("they wait for no replica");
    assert!(!waiting.is_finished(), "no replica has it");
    link.heal().await;
    let answers = timeout(BOUND, waiting).await.expect("the replica has it").unwrap();
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Acquisition::Granted { .. })), "{answers:?}");
    timeout(BOUND, keeping).await.expect("the replica has it").unwrap();
}

/// Two sessions whose keep-alives wait one after the other on a slow link.
#[tokio::test]
async fn keep_alives_that_wait_for_a_slow_replica_are_all_answered() {
    let pair = Pair::start().await;
    let backend = pair.backend(BOUND).await;
    let mut peers = Vec::new();
    for _ in 0..8 {
        peers.push(Peer::open(backend.clone(), LONG).await);
    }
    pair.replica.link().unwrap().delay(Duration::from_millis(200)).await;
    let acquiring = tokio::spawn({
        let first = peers[0].clone();
        async move { first.acquire_all(&names("n", 500)).await }
    });
    let mut keeping = tokio::task::JoinSet::new();
    for peer in peers {
        keeping.spawn(async move { peer.owned().await.is_some() });
    }
    assert!(keeping.join_all().await.into_iter().all(|lives| lives));
    assert_eq!(acquiring.await.unwrap().len(), 500);
}

#[tokio::test]
async fn a_promoted_replica_has_every_token_that_counted() {
    let pair = Pair::start().await;
    let mine = Peer::open(pair.backend(BOUND).await, LONG).await;
    let all = names("n", 50);
    let mut last = Vec::new();
    for round in 0..10 {
        last = mine
            .acquire_all(&all)
            .await
            .into_iter()
            .map(|(name, answer)| match answer {
                Acquisition::Granted { token, .. } => (name, token),
                other => panic!("{name}, round {round}: {other:?}"),
            })
            .collect();
        if round < 9 {
            mine.backend.release(&mine.session, &last).await.unwrap();
        }
    }
    let error = RedisBackend::connect(pair.replica.url()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::ReadOnly, Outcome::NotApplied), "{error:?}");
    pair.primary.kill().await.unwrap();
    pair.replica.read_write().await.unwrap();
    let after: Arc<dyn LeaseBackend> = Arc::new(RedisBackend::connect(pair.replica.url()).await.unwrap());
    after.open_session(LONG, &Metadata::default()).await.unwrap();
    let moved = Peer { backend: after.clone(), ..mine.clone() };
    let mut owned = moved.owned().await.expect("its session is there, too");
    owned.sort();
    last.sort();
    assert_eq!(owned, last);
    moved.backend.close_session(&moved.session).await.unwrap();
    let other = Peer::open(after, LONG).await;
    for (name, token) in &last {
        assert!(other.granted(name).await > *token, "{name}");
    }
}
