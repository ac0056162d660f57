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
    time::{Instant, sleep},
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

/// An actor whose mailbox is never empty.
struct Swamped {
    handled: Arc<AtomicU64>,
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

/// One of many tasks that use Simba without a pause.
async fn flood(
    n: usize,
    simba: Simba,
    election: Election,
    listener: Addr<Swamped>,
    over: Arc<AtomicBool>,
) -> u64 {
    let (own, shared) =
        (simba.lock(format!("own-{n}")).unwrap(), simba.lock(format!("shared-{}", n % 4)).unwrap());
    let mut calls = 0;
    while !over.load(Ordering::Relaxed) {
        calls += 1;
        match n % 8 {
            0 => drop(own.acquire(seconds(1)).await),
            1 => drop(own.try_acquire().await),
            2 => drop(shared.acquire(20 * MS).await),
            3 => drop(shared.try_acquire().await),
            4 => drop(simba.election("led").unwrap().start(&listener).await),
            5 => {
                let job = simba.election(format!("job-{n}")).unwrap().run_while_leader(|_| async {}).await;
                let job = job.unwrap();
                drop(job.election().step_down(Duration::ZERO).await);
                job.stop().await;
            }
            6 => {
                drop(election.leader().await);
                drop(shared.holder().await);
            }
            _ => {
                drop(simba.events());
                for _ in 0..100 {
                    assert!(election.term().is_none_or(|term| term.is_valid()));
                }
                drop(own.acquire(seconds(1)).await.unwrap().release().await);
            }
        }
    }
    calls
}

#[test]
fn a_flood_of_every_public_call_costs_no_keep_alive() {
    let _alone = alone();
    let scene = Scene::new();
    let over = Arc::new(AtomicBool::new(false));
    let handled = Arc::new(AtomicU64::new(0));
    let system = System::new();
    let (arbiter, own) = (Arbiter::new(), Arbiter::new());
    let seen = handled.clone();
    let swamped = Swamped::start_in_arbiter(&arbiter.handle(), |_| Swamped { handled: seen });
    let (log, rival_log) = (scene.log.clone(), scene.log.clone());
    let led = Leader::start_in_arbiter(&own.handle(), move |_| Leader::new("a", &log, Default::default()));
    let rival = Leader::start_in_arbiter(&own.handle(), move |_| {
        Leader::new("rival", &rival_log, Default::default())
    });
    let (election, since) = system.block_on(async {
        let election = scene.simba.election("led").unwrap().start(&led).await.unwrap();
        eventually("leads", seconds(10), || scene.log.count("a", Did::Elected) == 1).await;
        scene.rival.election("led").unwrap().start(&rival).await.unwrap();
        election.subscribe(&swamped);
        (election, now())
    });
    let mut events = scene.simba.events();
    swamped.do_send(Drop);
    let calls: u64 = thread::scope(|scope| {
        let floods: Vec<_> = (0..8_usize)
            .map(|thread| {
                let (simba, election, swamped, over) =
                    (scene.simba.clone(), election.clone(), swamped.clone(), over.clone());
                scope.spawn(move || {
                    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                    let task = |n: usize| {
                        flood(thread * 32 + n, simba.clone(), election.clone(), swamped.clone(), over.clone())
                    };
                    runtime
                        .block_on(futures_util::future::join_all((0..32).map(task)))
                        .into_iter()
                        .sum::<u64>()
                })
            })
            .collect();
        system.block_on(async { sleep(4 * LEASE).await });
        over.store(true, Ordering::Relaxed);
        floods.into_iter().map(|flood| flood.join().unwrap()).sum()
    });
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
        arbiter.stop();
    });
}
