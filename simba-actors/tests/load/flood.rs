//! Users that block their threads, or call as fast as they can, cost no keep-alive.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use actix::{Actor, Addr, Arbiter, AsyncContext, Context, Handler, Message, System};
use simba_actors::{Elected, Election, Revoked, Simba, SimbaConfig, SimbaEvent, Term};
use tokio::{
    runtime::{Builder, Runtime},
    time::Instant,
};

use crate::{
    alone,
    fixture::{Did, FaultyBackend, Leader, Log, MS, Op, eventually, now, seconds},
};

const LEASE: Duration = Duration::from_secs(2);
const RENEW: Duration = Duration::from_millis(600);

async fn connect(backend: &FaultyBackend) -> Simba {
    let config = SimbaConfig::builder().lease(LEASE).renew(RENEW).build().unwrap();
    Simba::builder().backend(Arc::new(backend.clone())).config(config).connect().await.unwrap()
}

/// How long after it was due the latest keep-alive since `since` was sent; none was overdue at the end.
fn worst_delay(backend: &FaultyBackend, since: Instant) -> Duration {
    let sent = backend.calls(Op::KeepAlive).into_iter().map(|call| call.at).filter(|at| *at > since);
    let mut times: Vec<_> = sent.collect();
    times.push(now());
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    gaps.max().unwrap_or(Duration::MAX).saturating_sub(RENEW)
}

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// A Simba whose job and actor lead, and a rival that would take over at once.
struct Scene {
    backend: FaultyBackend,
    simba: Simba,
    rival: Simba,
    log: Log,
    runtime: Runtime,
}

impl Scene {
    fn new() -> Self {
        let (backend, runtime) = (FaultyBackend::new(), runtime(2));
        let simba = runtime.block_on(connect(&backend));
        let rival = runtime.block_on(connect(&backend.sibling()));
        Self { backend, simba, rival, log: Log::default(), runtime }
    }

    /// After it nobody else may have led meanwhile.
    fn assert_undisturbed(&self, terms: &[Term], since: Instant, what: &str) {
        let delay = worst_delay(&self.backend, since);
        println!("{what}: the latest keep-alive was sent {delay:?} after it was due");
        assert!(terms.iter().all(Term::is_valid), "{terms:?}");
        assert_eq!(self.log.count("rival", Did::Elected), 0);
        assert!(delay <= RENEW / 4, "a keep-alive was {delay:?} late");
    }
}

#[test]
fn blocked_arbiters_and_workers_cost_no_keep_alive() {
    let _alone = alone();
    let scene = Scene::new();
    let job = scene.simba.election("job").unwrap().run_while_leader(|_| std::future::pending::<()>());
    let job = scene.runtime.block_on(job).unwrap();
    System::new().block_on(async {
        let arbiters = [Arbiter::new(), Arbiter::new()];
        let (seen, leader) = (scene.log.clone(), Leader::start("rival", &scene.log));
        let led = Leader::start_in_arbiter(&arbiters[0].handle(), move |_| {
            Leader::new("a", &seen, Default::default())
        });
        let election = scene.simba.election("led").unwrap().start(&led).await.unwrap();
        eventually("both lead", seconds(10), || {
            job.election().term().is_some() && scene.log.count("a", Did::Elected) == 1
        })
        .await;
        scene.rival.election("job").unwrap().start(&leader).await.unwrap();
        scene.rival.election("led").unwrap().start(&leader).await.unwrap();
        let terms = [job.election().term().unwrap(), election.term().unwrap()];
        let since = now();
        for arbiter in &arbiters {
            arbiter.spawn_fn(|| thread::sleep(5 * LEASE));
        }
        for _ in 0..2 {
            scene.runtime.spawn(async { thread::sleep(5 * LEASE) });
        }
        thread::sleep(5 * LEASE - 200 * MS);
        scene.assert_undisturbed(&terms, since, "blocked");
    });
    scene.runtime.shutdown_background();
}

/// An actor whose mailbox is never empty once a drop has fallen.
struct Swamped {
    handled: Arc<AtomicU64>,
}

impl Swamped {
    fn start_in(arbiter: &Arbiter, handled: &Arc<AtomicU64>) -> Addr<Self> {
        let handled = handled.clone();
        Self::start_in_arbiter(&arbiter.handle(), |_| Self { handled })
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Drop;

impl Actor for Swamped {
    type Context = Context<Self>;
}

impl Handler<Drop> for Swamped {
    type Result = ();
    fn handle(&mut self, Drop: Drop, ctx: &mut Context<Self>) {
        self.handled.fetch_add(1, Ordering::Relaxed);
        ctx.notify(Drop);
    }
}

impl Handler<Elected> for Swamped {
    type Result = ();
    fn handle(&mut self, _: Elected, _: &mut Context<Self>) {}
}

impl Handler<Revoked> for Swamped {
    type Result = ();
    fn handle(&mut self, _: Revoked, _: &mut Context<Self>) {}
}

/// Calls without a pause until it is over, from each of many tasks.
#[derive(Clone)]
struct Flood {
    simba: Simba,
    election: Election,
    swamped: Addr<Swamped>,
    /// Like the swamped actor, but on dry land.
    idle: Addr<Swamped>,
    over: Arc<AtomicBool>,
}

impl Flood {
    /// What the eight threads with 32 tasks each called in that time.
    fn pour(&self, time: Duration) -> u64 {
        thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|thread| scope.spawn(move || self.thread(thread * 32))).collect();
            thread::sleep(time);
            self.over.store(true, Ordering::Relaxed);
            threads.into_iter().map(|calls| calls.join().unwrap()).sum()
        })
    }

    fn thread(&self, first: usize) -> u64 {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let tasks = (first..first + 32).map(|n| self.task(n));
        runtime.block_on(futures_util::future::join_all(tasks)).into_iter().sum()
    }

    async fn task(&self, n: usize) -> u64 {
        let own = self.simba.lock(format!("own-{n}")).unwrap();
        let shared = self.simba.lock(format!("shared-{}", n % 4)).unwrap();
        let mut calls = 0;
        while !self.over.load(Ordering::Relaxed) {
            calls += 1;
            match n % 10 {
                0 => drop(own.acquire(seconds(1)).await),
                1 => drop(own.try_acquire().await),
                2 => drop(shared.acquire(20 * MS).await),
                3 => drop(shared.try_acquire().await),
                4 => drop(self.simba.election("led").unwrap().start(&self.swamped).await),
                5 => self.job(n).await,
                6 => {
                    drop(self.election.leader().await);
                    drop(shared.holder().await);
                }
                7 => {
                    drop(self.simba.events());
                    assert!((0..100).all(|_| self.election.term().is_none_or(|term| term.is_valid())));
                    drop(own.acquire(seconds(1)).await.unwrap().release().await);
                }
                8 => drop(own.with(seconds(1), async |term: &Term| assert!(term.is_valid())).await),
                _ => self.election_of_its_own(n).await,
            }
        }
        calls
    }

    async fn job(&self, n: usize) {
        let builder = self.simba.election(format!("job-{n}")).unwrap();
        let job = builder.run_while_leader(|_| async {}).await.unwrap();
        drop(job.election().step_down(Duration::ZERO).await);
        job.stop().await;
    }

    async fn election_of_its_own(&self, n: usize) {
        let builder = self.simba.election(format!("election-{n}")).unwrap();
        let election = builder.start(&self.idle).await.unwrap();
        election.subscribe(&self.idle);
        election.subscribe(&self.swamped);
        election.stop().await;
    }
}

/// An election that this Simba leads, the swamped actor listens to, and the rival wants; and both leaders.
async fn led(scene: &Scene, land: &Arbiter, swamped: &Addr<Swamped>) -> (Election, [Addr<Leader>; 2]) {
    let start = |who: &'static str| {
        let log = scene.log.clone();
        Leader::start_in_arbiter(&land.handle(), move |_| Leader::new(who, &log, Default::default()))
    };
    let (leader, rival) = (start("a"), start("rival"));
    let election = scene.simba.election("led").unwrap().start(&leader).await.unwrap();
    eventually("leads", seconds(10), || scene.log.count("a", Did::Elected) == 1).await;
    scene.rival.election("led").unwrap().start(&rival).await.unwrap();
    election.subscribe(swamped);
    (election, [leader, rival])
}

#[test]
fn a_flood_of_every_public_call_costs_no_keep_alive() {
    let _alone = alone();
    let (scene, system) = (Scene::new(), System::new());
    let (swamp, land, handled) = (Arbiter::new(), Arbiter::new(), Arc::default());
    let (swamped, idle) = (Swamped::start_in(&swamp, &handled), Swamped::start_in(&land, &handled));
    let (election, _leaders) = system.block_on(led(&scene, &land, &swamped));
    let (since, mut events) = (system.block_on(async { now() }), scene.simba.events());
    swamped.do_send(Drop);
    let simba = scene.simba.clone();
    let flood = Flood { simba, election: election.clone(), swamped, idle, over: Arc::default() };
    let calls = flood.pour(4 * LEASE);
    println!("{calls} calls, {} messages to the swamped actor", handled.load(Ordering::Relaxed));
    scene.assert_undisturbed(&[election.term().unwrap()], since, "flooded");
    system.block_on(async {
        while let Ok(Some(event)) = tokio::time::timeout(MS, events.next()).await {
            assert!(
                !matches!(event, SimbaEvent::Suspended { .. } | SimbaEvent::SessionExpired { .. }),
                "{event:?}"
            );
        }
        // The Arbiter is never free for the actor's other tasks.
        swamp.stop();
    });
}
