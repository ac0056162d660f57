//! The order of a session's calls over a reconnect, on which it rests that a release deletes nothing of another's.

use std::time::Duration;

use futures_util::future::join_all;
use simba_servers::{Proxy, ZooKeeper, ZooKeeperEnsemble};
use tokio::time::{sleep, timeout};
use zookeeper_client::{Acls, Client, CreateMode, Error};

use crate::peer::{BOUND, eventually};

/// What happens to the connection that a session is on.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// It ends by RST.
    Reset,
    /// What was sent on it arrives when the session has gone on elsewhere.
    HeldBack,
}

/// A session with two ways, which notices soon that one of them is silent.
struct Walker {
    number: usize,
    client: Client,
    ways: [Proxy; 2],
    /// What it sent, in that order.
    sent: Vec<Sent>,
}

struct Sent {
    path: String,
    /// The transaction, if it was answered.
    answered: Option<i64>,
    /// By the call after it that was answered, it was not there.
    was_absent: bool,
}

impl Walker {
    async fn start(number: usize, nodes: [&ZooKeeper; 2]) -> Self {
        let [a, b] = nodes;
        let ways = [Proxy::before(a.address()).await, Proxy::before(b.address()).await];
        let hosts = format!("{},{}", ways[0].address(), ways[1].address());
        let client = Client::connector()
            .with_session_timeout(Duration::from_secs(10))
            .with_connection_timeout(Duration::from_millis(160))
            .connect(&hosts)
            .await
            .unwrap();
        let mode = CreateMode::Persistent.with_acls(Acls::anyone_all());
        client.create(&format!("/{number}"), b"", &mode).await.unwrap();
        Self { number, client, ways, sent: Vec::new() }
    }

    /// The way that it is on.
    async fn way(&self) -> &Proxy {
        let before = self.ways.each_ref().map(Proxy::round_trips);
        let used = || (0..2).rev().find(|at| self.ways[*at].round_trips() > before[*at]);
        eventually("a call goes by one of them", async || {
            self.client.check_stat("/").await.is_ok() && used().is_some()
        })
        .await;
        &self.ways[used().unwrap()]
    }

    /// Sends calls before, while and after its connection is cut.
    async fn round(&mut self, round: usize, cut: Cut) {
        let proxy = self.way().await;
        let paths: Vec<_> = (0..24).map(|at| format!("/{}/{round:03}-{at:02}", self.number)).collect();
        let (mut creates, mut looks) = (Vec::new(), Vec::new());
        let mode = CreateMode::Persistent.with_acls(Acls::anyone_all());
        for (at, path) in paths.iter().enumerate() {
            creates.push(self.client.create(path, b"", &mode));
            match (at, cut) {
                (7, Cut::Reset) => proxy.reset().await,
                (7, Cut::HeldBack) => proxy.black_hole().await,
                // It goes on elsewhere meanwhile: what is sent from now on is sent there.
                (15, _) => self.goes_on().await,
                (19, Cut::HeldBack) => proxy.heal().await,
                _ => sleep(Duration::from_micros(round as u64 * 37 % 700)).await,
            }
            if at >= 15 {
                // All that was sent before it must have taken effect, or never does.
                let sync = self.client.sync("/");
                let looked = paths[..=at].iter().map(|path| self.client.check_stat(path)).collect::<Vec<_>>();
                looks.push((sync, looked));
            }
        }
        let answers = timeout(BOUND, join_all(creates)).await.expect("all calls end");
        let mut sent: Vec<_> = paths
            .iter()
            .zip(answers)
            .map(|(path, answer)| Sent { path: path.clone(), answered: zxid(answer), was_absent: false })
            .collect();
        for (sync, looked) in looks {
            let (synced, looked) = (sync.await, join_all(looked).await);
            for (sent, look) in sent.iter_mut().zip(looked) {
                sent.was_absent |= synced.is_ok() && look == Ok(None);
            }
        }
        self.sent.append(&mut sent);
    }

    async fn goes_on(&self) {
        eventually("it goes on", async || {
            timeout(BOUND / 60, self.client.sync("/")).await.is_ok_and(|synced| synced.is_ok())
        })
        .await;
    }

    /// How many calls were not answered and took effect, and how many that were not answered did not.
    async fn judge(&self) -> (usize, usize, Vec<String>) {
        self.way().await;
        self.client.sync("/").await.unwrap();
        let stats = join_all(self.sent.iter().map(|sent| self.client.check_stat(&sent.path))).await;
        let (mut newest, mut silent, mut lost, mut late) = (0, 0, 0, Vec::new());
        for (sent, stat) in self.sent.iter().zip(stats).rev() {
            let found = stat.unwrap().map(|stat| stat.czxid);
            match (sent.answered, found) {
                (Some(answered), found) => assert_eq!(found, Some(answered), "{}", sent.path),
                (None, Some(_)) => silent += 1,
                (None, None) => lost += 1,
            }
            let Some(found) = found else { continue };
            if sent.was_absent || (newest != 0 && found > newest) {
                late.push(sent.path.clone());
            }
            if sent.answered.is_some() {
                newest = found;
            }
        }
        (silent, lost, late)
    }
}

fn zxid(answer: Result<(zookeeper_client::Stat, zookeeper_client::CreateSequence), Error>) -> Option<i64> {
    answer.ok().map(|(stat, _)| stat.czxid)
}

/// Each on another pair of servers, the last two on one twice.
async fn walkers(ensemble: &ZooKeeperEnsemble) -> Vec<Walker> {
    let leader = ensemble.leader().await;
    let [a, b] = &ensemble.followers().await[..] else { panic!("two servers follow") };
    let pairs = [[a, b], [a, &leader], [a, a], [&leader, &leader]];
    join_all(pairs.into_iter().enumerate().map(|(number, nodes)| Walker::start(number, nodes))).await
}

/// From one server to another, what is held back may arrive late (printed), so nothing may rest on it: see
/// `late_releases`.
#[tokio::test]
async fn a_call_never_takes_effect_after_a_later_one_that_was_answered_while_a_session_stays_on_one_server() {
    let ensemble = ZooKeeperEnsemble::start().await;
    let mut walkers = walkers(&ensemble).await;
    join_all(walkers.iter_mut().map(async |walker| {
        for round in 0..60 {
            let cut = if round % 3 == 0 { Cut::HeldBack } else { Cut::Reset };
            walker.round(round, cut).await;
        }
    }))
    .await;
    for walker in &walkers {
        let (silent, lost, late) = walker.judge().await;
        let sent = walker.sent.len();
        println!("{sent} calls; without an answer {silent} took effect, {lost} did not; too late: {late:?}");
        assert!(walker.number < 2 || late.is_empty(), "{late:?}");
        assert!(silent > 0 && lost > 0, "the cuts were felt");
    }
}
