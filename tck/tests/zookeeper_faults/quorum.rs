//! The holder's server loses the others, or they lose it: never two valid terms.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use simba_backends::{Acquired, Acquisition, KeepAlive, LeaseName, Token};
use simba_servers::{Cut, Options, ZooKeeper, ZooKeeperEnsemble};
use tokio::{task::JoinHandle, time::sleep};

use crate::{
    kit::{GLANCE, backend},
    peer::{Peer, eventually, name, now},
};

const LEASE: Duration = Duration::from_millis(1500);

/// Sessions on the holders' server, and as many on another one.
const PAIRS: usize = 8;

/// How long a term is valid, as the engine has it: it takes off what clocks may differ by, and a margin.
fn validity(remaining: Duration) -> Duration {
    remaining.mul_f64(0.99).saturating_sub(Duration::from_millis(50))
}

/// The terms that there were of a name, each until when it was valid at most.
#[derive(Default)]
struct Terms {
    until: Option<(Token, Instant)>,
    /// How long before the next one began each was over, at least; below zero it was not.
    shortest_gap: Option<f64>,
    count: usize,
}

impl Terms {
    fn begins(&mut self, token: Token, until: Instant) {
        let now = now();
        if let Some((before, valid)) = self.until {
            assert!(before < token, "tokens rise");
            let gap = if valid > now { -(valid - now).as_secs_f64() } else { (now - valid).as_secs_f64() };
            self.shortest_gap = Some(self.shortest_gap.map_or(gap, |shortest| shortest.min(gap)));
        }
        self.count += 1;
        self.until = Some((token, until));
    }

    fn goes_on(&mut self, token: Token, until: Instant) {
        match &mut self.until {
            Some((known, valid)) if *known == token => *valid = until.max(*valid),
            // Somebody else has it already: this answer makes a term valid that is over.
            Some((known, _)) if *known > token => {
                let late = until.saturating_duration_since(now()).as_secs_f64();
                if late > 0.0 {
                    self.shortest_gap = Some(self.shortest_gap.map_or(-late, |shortest| shortest.min(-late)));
                }
            }
            _ => self.until = Some((token, until)),
        }
    }

    fn ended(&mut self, token: Token) {
        if let Some((known, valid)) = &mut self.until
            && *known == token
        {
            *valid = now().min(*valid);
        }
    }
}

/// A process that wants one name, on one server.
struct Contender {
    terms: Arc<Mutex<Terms>>,
    url: String,
    name: LeaseName,
}

impl Contender {
    /// Opens sessions, contends and keeps what it has alive, for ever.
    async fn run(self) {
        let backend = backend(&self.url).await;
        loop {
            let Ok(opened) = backend.open_session(LEASE, &Default::default()).await else {
                sleep(GLANCE).await;
                continue;
            };
            let peer = Peer { backend: backend.clone(), session: opened.session, lease: LEASE };
            self.live(&peer).await;
        }
    }

    async fn live(&self, peer: &Peer) {
        let mut held = None;
        let mut renewed = now();
        loop {
            sleep(GLANCE).await;
            let sent = now();
            if held.is_none()
                && let Ok(Acquired::Answers(answers)) =
                    peer.backend.acquire(&peer.session, std::slice::from_ref(&self.name)).await
                && let [
                    (
                        _,
                        Acquisition::Granted { token, remaining }
                        | Acquisition::AlreadyOwned { token, remaining },
                    ),
                ] = answers[..]
            {
                self.terms.lock().unwrap().begins(token, sent + validity(remaining));
                held = Some(token);
            }
            let due = if held.is_some() { LEASE / 20 } else { LEASE / 4 };
            if renewed.elapsed() < due {
                continue;
            }
            renewed = now();
            match peer.backend.keep_alive(&peer.session, LEASE).await {
                Ok(KeepAlive::Live { remaining, owned, .. }) => {
                    let Some(token) = held else { continue };
                    if owned.contains(&(self.name.clone(), token)) {
                        self.terms.lock().unwrap().goes_on(token, renewed + validity(remaining));
                    } else {
                        self.terms.lock().unwrap().ended(token);
                        held = None;
                    }
                }
                Ok(KeepAlive::Expired) => {
                    if let Some(token) = held {
                        self.terms.lock().unwrap().ended(token);
                    }
                    return;
                }
                Err(_) => {}
            }
        }
    }
}

/// Pairs that contend for a name each, one of them on a server that something happens to.
struct Contest {
    all: Vec<Arc<Mutex<Terms>>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Contest {
    async fn begin(round: usize, holders: &ZooKeeper, others: &ZooKeeper) -> Self {
        Self::between(round, holders.url().into(), others.url().into()).await
    }

    async fn between(round: usize, holders: String, others: String) -> Self {
        let all: Vec<Arc<Mutex<Terms>>> = (0..PAIRS).map(|_| Arc::default()).collect();
        let on = |url: &String, at: usize| {
            let name = name(format!("n-{round}-{at}"));
            tokio::spawn(Contender { terms: all[at].clone(), url: url.clone(), name }.run())
        };
        let mut tasks: Vec<_> = (0..PAIRS).map(|at| on(&holders, at)).collect();
        let contest = Self { tasks: Vec::new(), all: all.clone() };
        contest.won(1).await;
        tasks.extend((0..PAIRS).map(|at| on(&others, at)));
        sleep(LEASE / 2).await;
        Self { tasks, ..contest }
    }

    /// Waits until each name has had that many terms.
    async fn won(&self, terms: usize) {
        eventually("each name has a term", async || {
            self.all.iter().all(|all| all.lock().unwrap().count >= terms)
        })
        .await;
    }

    /// The shortest time between two terms.
    async fn end(self) -> f64 {
        self.tasks.iter().for_each(JoinHandle::abort);
        join_all(self.tasks).await;
        let gaps = self.all.iter().filter_map(|all| all.lock().unwrap().shortest_gap);
        gaps.fold(f64::INFINITY, f64::min)
    }
}

/// Who has the holders' sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Follower,
    Leader,
}

impl Role {
    /// The server with the holders, and one for the others that something else happens to.
    async fn find(self, ensemble: &ZooKeeperEnsemble) -> (ZooKeeper, ZooKeeper) {
        ensemble.wait_until_whole().await;
        let (leader, mut followers) = (ensemble.leader().await, ensemble.followers().await);
        match self {
            Self::Follower => (followers.remove(0), followers.remove(0)),
            Self::Leader => (leader, followers.remove(0)),
        }
    }
}

fn quick() -> Options {
    Options::new().set("tickTime", "200")
}

#[expect(clippy::print_stdout, reason = "what is measured is printed")]
async fn cuts(role: Role) {
    let ensemble = ZooKeeperEnsemble::linked_by_proxies_with(quick()).await;
    let mut gaps = Vec::new();
    for round in 0..10 {
        let (holders, others) = role.find(&ensemble).await;
        let contest = Contest::begin(round, &holders, &others).await;
        let cut = if round % 2 == 0 { Cut::Silence } else { Cut::Reset };
        ensemble.cut_from_quorum(&holders, cut).await.unwrap();
        contest.won(2).await;
        gaps.push(contest.end().await);
        ensemble.heal(&holders).await.unwrap();
    }
    println!("{role:?} cut off: seconds between two terms {gaps:.2?}");
    assert!(gaps.iter().all(|gap| *gap >= 0.0), "two valid terms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_cut_off_from_the_quorum_with_the_holders_never_makes_two_valid_terms() {
    cuts(Role::Follower).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_cut_off_from_the_quorum_with_the_holders_never_makes_two_valid_terms() {
    cuts(Role::Leader).await;
}

#[expect(clippy::print_stdout, reason = "what is measured is printed")]
async fn pauses(role: Role) {
    let ensemble = ZooKeeperEnsemble::with(quick()).await;
    let mut gaps = Vec::new();
    for round in 0..3 {
        let (holders, others) = role.find(&ensemble).await;
        let contest = Contest::begin(round, &holders, &others).await;
        holders.stop().unwrap();
        match round % 3 {
            // Shorter than a call, shorter than a session, and until others have all.
            0 => sleep(LEASE / 5).await,
            1 => sleep(LEASE * 3 / 4).await,
            _ => contest.won(2).await,
        }
        holders.resume().unwrap();
        sleep(LEASE).await;
        gaps.push(contest.end().await);
    }
    println!("{role:?} paused: seconds between two terms {gaps:.2?}");
    assert!(gaps.iter().all(|gap| *gap >= 0.0), "two valid terms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_follower_with_the_holders_never_makes_two_valid_terms() {
    pauses(Role::Follower).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_leader_with_the_holders_never_makes_two_valid_terms() {
    pauses(Role::Leader).await;
}

/// A leader that hears nothing of the others answers a `sync` by itself until it has missed them for `syncLimit` ticks.
/// If they know before, and choose another one, then a keep-alive that only reads lets two terms be valid; by more than
/// half a second here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keep_alives_that_write_never_make_two_valid_terms_where_only_the_others_notice_that_the_leader_is_cut_off()
 {
    let ensemble = ZooKeeperEnsemble::linked_by_proxies_with(quick().set("syncLimit", "20")).await;
    let mut gaps = Vec::new();
    for round in 0..2 {
        let (holders, others) = Role::Leader.find(&ensemble).await;
        let writing = |node: &ZooKeeper| format!("{}/simba?keep_alive=write", node.url());
        let contest = Contest::between(round, writing(&holders), writing(&others)).await;
        let followers = ensemble.followers().await;
        ensemble.cut_from_quorum(&holders, Cut::Silence).await.unwrap();
        for follower in &followers {
            follower.kill().await.unwrap();
        }
        join_all(followers.iter().map(ZooKeeper::start_again)).await;
        contest.won(2).await;
        gaps.push(contest.end().await);
        ensemble.heal(&holders).await.unwrap();
    }
    println!("an old leader that does not notice: seconds between two terms {gaps:.2?}");
    assert!(gaps.iter().all(|gap| *gap >= 0.0), "two valid terms");
}
