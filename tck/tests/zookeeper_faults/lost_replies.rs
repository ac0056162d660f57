//! A call takes effect, and its reply is lost.

use std::time::Duration;

use simba_actors::{Simba, SimbaConfig};
use simba_backends::{Acquisition, LeaseName, Token};
use simba_servers::{LostReply, Proxy, ZooKeeper};
use tokio::time::sleep;

use crate::{
    kit::{attempt, backend, behind_proxy, granted, nodes, open, owned, soon},
    peer::{BOUND, Peer, name},
};

const LEASE: Duration = Duration::from_secs(3);

struct Scene {
    server: ZooKeeper,
    proxy: Proxy,
    mine: Peer,
    other: Peer,
}

impl Scene {
    async fn set() -> Self {
        let (server, proxy) = behind_proxy().await;
        let mine = open(&proxy.url(server.url()), LEASE).await;
        let other = open(server.url(), Duration::from_secs(10)).await;
        Self { server, proxy, mine, other }
    }

    /// Loses the replies until the nodes are as the call makes them, or something else of the session was lost first.
    async fn lose<T>(
        &self,
        then: LostReply,
        call: impl Future<Output = T>,
        done: impl Fn(&[LeaseName]) -> bool,
    ) -> T {
        self.proxy.lose_replies(then).await;
        let healed = async {
            soon(LEASE / 6, async || done(&nodes(&self.server, &self.mine).await)).await;
            sleep(Duration::from_millis(20)).await;
            self.proxy.heal().await;
        };
        tokio::join!(call, healed).0
    }

    /// The first keep-alive that is answered tells what the server has.
    async fn adopted(&self) -> Vec<(LeaseName, Token)> {
        let told = owned(&self.mine).await;
        let names: Vec<_> = told.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(names, nodes(&self.server, &self.mine).await);
        for (name, token) in &told {
            assert_eq!(self.other.holder(name).await.map(|holder| holder.token), Some(*token));
        }
        told
    }

    async fn is_free(&self, n: &LeaseName) {
        assert_eq!(owned(&self.other).await, []);
        let token = granted(&self.other, n).await;
        self.other.release(n, token).await;
    }
}

async fn creates_are_lost(then: LostReply, rounds: usize) {
    let scene = Scene::set().await;
    let mut adopted = 0;
    for round in 0..rounds {
        let n = name(format!("n-{round}"));
        let answer = scene.lose(then, attempt(&scene.mine, &n), |nodes| nodes.contains(&n)).await;
        let told = scene.adopted().await;
        assert!(!matches!(answer, Ok(Some(Acquisition::Held { .. }) | None)), "{answer:?}");
        if let [(told, token)] = &told[..] {
            assert_eq!(*told, n);
            adopted += 1;
            assert!(matches!(attempt(&scene.other, &n).await, Ok(Some(Acquisition::Held { .. }))));
            scene.mine.release(&n, *token).await;
        }
        scene.is_free(&n).await;
        assert_eq!(owned(&scene.mine).await, []);
    }
    assert!(adopted > 0, "none of {rounds} replies that were lost was that of a create");
}

async fn deletes_are_lost(then: LostReply, rounds: u64) {
    let scene = Scene::set().await;
    let (mut gone, n) = (0, name("n"));
    for round in 0..rounds {
        let token = granted(&scene.mine, &n).await;
        // Before the delete it looks, in one round trip or two, which is answered.
        scene.proxy.lose_replies_after(1 + round % 3, then).await;
        let lease = [(n.clone(), token)];
        let release = scene.mine.backend.release(&scene.mine.session, &lease);
        let healed = async {
            soon(LEASE / 6, async || nodes(&scene.server, &scene.mine).await.is_empty()).await;
            sleep(Duration::from_millis(20)).await;
            scene.proxy.heal().await;
        };
        let _ = tokio::join!(release, healed).0; // What it says is not what counts here.
        let told = scene.adopted().await;
        gone += usize::from(told.is_empty());
        if let [(_, again)] = told[..] {
            assert_eq!(again, token, "the term goes on until it is released");
            scene.mine.release(&n, token).await;
        }
        scene.is_free(&n).await;
        assert_eq!(owned(&scene.mine).await, []);
    }
    assert!(gone > 0, "none of {rounds} replies that were lost was that of a delete");
}

#[tokio::test]
async fn a_create_whose_reply_is_lost_by_reset_is_told_of_by_the_next_keep_alive() {
    creates_are_lost(LostReply::Reset, 12).await;
}

#[tokio::test]
async fn a_create_whose_reply_is_lost_in_silence_is_told_of_by_the_next_keep_alive() {
    creates_are_lost(LostReply::Silence, 4).await;
}

#[tokio::test]
async fn a_release_whose_reply_is_lost_by_reset_is_told_of_by_the_next_keep_alive() {
    deletes_are_lost(LostReply::Reset, 12).await;
}

#[tokio::test]
async fn a_release_whose_reply_is_lost_in_silence_is_told_of_by_the_next_keep_alive() {
    deletes_are_lost(LostReply::Silence, 6).await;
}

async fn simba(url: &str) -> Simba {
    let config = SimbaConfig::builder().lease(LEASE).renew(LEASE / 6).build().unwrap();
    Simba::builder().backend(backend(url).await).config(config).connect().await.unwrap()
}

/// Takes turns at a lock while replies are lost, and never finds another at it.
async fn turns_with_lost_replies(then: LostReply) {
    let (server, proxy) = behind_proxy().await;
    let (mine, other) = (simba(&proxy.url(server.url())).await, simba(server.url()).await);
    let locks = [mine.lock("n").unwrap(), other.lock("n").unwrap()];
    let held: std::sync::Mutex<[Option<simba_actors::Term>; 2]> = std::sync::Mutex::default();
    let turns = |own: usize| {
        let (locks, held) = (&locks, &held);
        async move {
            for _ in 0..8 {
                let Ok(lock) = locks[own].acquire(BOUND).await else { panic!("{own} waits for ever") };
                {
                    let mut held = held.lock().unwrap();
                    let (term, before) = (lock.clone(), held[1 - own].as_ref());
                    assert!(
                        !before.is_some_and(|other| other.is_valid() && term.is_valid()),
                        "two valid terms"
                    );
                    assert!(before.is_none_or(|other| other.token() < term.token()), "tokens rise");
                    held[own] = Some(term.clone());
                }
                sleep(Duration::from_millis(20)).await;
                // It may be lost by now.
                let _ = lock.release().await;
                sleep(Duration::from_millis(30)).await;
            }
        }
    };
    let losses = async {
        loop {
            proxy.lose_replies(then).await;
            sleep(Duration::from_millis(50)).await;
            proxy.heal().await;
            sleep(Duration::from_millis(if then == LostReply::Reset { 150 } else { 700 })).await;
        }
    };
    tokio::select! {
        _ = async { tokio::join!(turns(0), turns(1)) } => {}
        () = losses => {}
    }
    proxy.heal().await;
    mine.close().await.unwrap();
    other.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_lost_by_reset_never_make_two_valid_terms_and_waiters_get_the_name() {
    turns_with_lost_replies(LostReply::Reset).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_lost_in_silence_never_make_two_valid_terms_and_waiters_get_the_name() {
    turns_with_lost_replies(LostReply::Silence).await;
}
