//! R15: a future may be dropped at any await, and nothing is left behind.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use simba_actors::{Simba, backends::LeaseBackend};
use tokio::time::sleep;

use crate::fixture::{Behaviour, LEASE, Leader, Log, MS, Op, RENEW, World, turns, virtually};

/// Polls a future exactly `polls` times, with all that Simba does in between, and drops it.
async fn polled<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let once = poll_fn(|cx| {
            Poll::Ready(match future.as_mut().poll(cx) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            })
        });
        if let Some(output) = once.await {
            return Some(output);
        }
        turns(1).await;
    }
    None
}

const LATENCY: [Option<Duration>; 2] = [None, Some(Duration::from_millis(5))];

/// Drops what `make` makes after 0, 1, 2, .. polls until it completes, and looks for remains each time.
async fn drop_at_every_await<T, F>(latency: Option<Duration>, make: impl Fn(Simba) -> F)
where
    F: Future<Output = T>,
{
    for polls in 0.. {
        let world = World::new();
        let simba = world.simba().await;
        for op in latency.iter().flat_map(|_| [Op::Acquire, Op::Release]) {
            world.backend.always(op, Behaviour::Late(latency.unwrap()));
        }
        let done = polled(polls, make(simba.clone())).await.is_some();
        // What was late is overtaken by what is dropped, at every distance.
        turns(polls % 7).await;
        world.assert_nothing_left(&simba, "x").await;
        simba.close().await.unwrap();
        if done {
            return;
        }
        if polls > 60 {
            sleep(MS).await;
        }
        if polls > 150 {
            return;
        }
    }
}

#[test]
fn r15_acquire_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for latency in LATENCY {
            drop_at_every_await(latency, |simba| async move {
                drop(simba.lock("x").unwrap().acquire(RENEW).await.unwrap());
            })
            .await;
        }
    });
}

#[test]
fn r15_try_acquire_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for latency in LATENCY {
            drop_at_every_await(latency, |simba| async move {
                simba.lock("x").unwrap().try_acquire().await.unwrap();
            })
            .await;
        }
    });
}

#[test]
fn r15_release_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for latency in LATENCY {
            drop_at_every_await(latency, |simba| async move {
                simba.lock("x").unwrap().acquire(RENEW).await.unwrap().release().await.unwrap();
            })
            .await;
        }
    });
}

#[test]
fn r15_with_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        drop_at_every_await(None, |simba| async move {
            simba.lock("x").unwrap().with(RENEW, async |_| turns(3).await).await.unwrap();
        })
        .await;
    });
}

#[test]
fn r15_start_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for latency in LATENCY {
            let log = Log::default();
            // Lives on, so that only the dropped start can end the election.
            let leader = Leader::start("a", &log);
            drop_at_every_await(latency, |simba| {
                let leader = leader.clone();
                async move {
                    let election = simba.election("x").unwrap().start(&leader).await.unwrap();
                    election.stop().await;
                }
            })
            .await;
        }
    });
}

#[test]
fn r15_run_while_leader_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        drop_at_every_await(None, |simba| async move {
            let job = simba.election("x").unwrap().run_while_leader(|_| std::future::pending::<()>());
            job.await.unwrap().stop().await;
        })
        .await;
    });
}

#[test]
fn r15_stop_and_step_down_dropped_at_every_await_go_on() {
    virtually(async {
        for (polls, stop) in (1..12).flat_map(|polls| [(polls, true), (polls, false)]) {
            let (world, log) = (World::new(), Log::default());
            let simba = world.simba().await;
            let leader = Leader::start("a", &log);
            let election = simba.election("x").unwrap().start(&leader).await.unwrap();
            sleep(10 * MS).await;
            if stop {
                polled(polls, election.stop()).await;
            } else {
                polled(polls, election.step_down(10 * LEASE)).await;
            }
            sleep(RENEW).await;
            assert!(world.is_free("x").await, "{polls} polls, stop: {stop}");
            election.stop().await;
            log.assert_alternates("a");
            world.assert_nothing_left(&simba, "x").await;
        }
    });
}

#[test]
fn r14_a_dropped_close_goes_on() {
    virtually(async {
        for polls in 1..12 {
            let (world, log) = (World::new(), Log::default());
            let simba = world.simba().await;
            let leader = Leader::start("a", &log);
            simba.election("x").unwrap().start(&leader).await.unwrap();
            let held = simba.lock("y").unwrap().acquire(RENEW).await.unwrap();
            polled(polls, simba.close()).await;
            drop(held);
            sleep(MS).await;
            assert!(world.is_free("x").await && world.is_free("y").await);
            assert_eq!(world.backend.count(Op::Close), 1);
            simba.close().await.unwrap();
            log.assert_alternates("a");
        }
    });
}

#[test]
fn r15_connect_dropped_at_every_await_leaves_no_session() {
    virtually(async {
        for latency in LATENCY {
            for polls in 0..40 {
                let world = World::new();
                if let Some(latency) = latency {
                    world.backend.always(Op::Open, Behaviour::Late(latency));
                }
                let backend: Arc<dyn LeaseBackend> = Arc::new(world.backend.clone());
                let connect = Simba::builder().backend(backend).config(World::config()).on_this_thread();
                let connected = polled(polls, connect.connect()).await;
                drop(connected);
                sleep(RENEW + 100 * MS).await;
                let (opened, closed) = (world.backend.count(Op::Open), world.backend.count(Op::Close));
                assert_eq!(opened, closed, "{polls} polls leave a session");
                assert_eq!(world.backend.count(Op::KeepAlive), 0);
            }
        }
    });
}
