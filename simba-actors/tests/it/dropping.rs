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

use crate::fixture::{Behaviour, FaultyBackend, LEASE, Leader, Log, MS, Op, RENEW, World, turns, virtually};

/// No future needs more polls, however late the answers are.
const MOST_POLLS: usize = 500;

/// What the storage does meanwhile.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    Smooth,
    /// Each call takes so long: until it takes effect, or after that.
    Slow(Duration),
    Late(Duration),
}

const TROUBLES: [Trouble; 4] = [
    Trouble::Smooth,
    Trouble::Slow(Duration::from_millis(10)),
    Trouble::Slow(Duration::from_millis(50)),
    Trouble::Late(Duration::from_millis(30)),
];

impl Trouble {
    fn befall(self, backend: &FaultyBackend) {
        for op in [Op::KeepAlive, Op::Acquire, Op::Release, Op::Close] {
            match self {
                Self::Smooth => {}
                Self::Slow(by) => backend.always(op, Behaviour::Slow(by)),
                Self::Late(by) => backend.always(op, Behaviour::Late(by)),
            }
        }
    }

    /// The time from poll to poll: several fall into each call.
    fn step(self) -> Duration {
        match self {
            Self::Smooth => Duration::ZERO,
            Self::Slow(by) | Self::Late(by) => by / 4,
        }
    }

    /// When every call is over, in one way or the other: a call, the keep-alive that asks about it and what
    /// waited for both.
    fn gives_up_after(self) -> Duration {
        match self {
            Self::Smooth => MS,
            Self::Slow(by) | Self::Late(by) => by * 4,
        }
    }
}

/// Polls a future exactly `polls` times, with all that Simba does in between, and drops it.
async fn polled<F: Future>(polls: usize, step: Duration, future: F) -> Option<F::Output> {
    assert!(polls < MOST_POLLS, "it never completes");
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
        if step.is_zero() { turns(1).await } else { sleep(step).await }
    }
    None
}

/// Drops what `make` makes after 0, 1, 2, .. polls until it completes, and looks for remains each time.
/// It tells whether it got what it asked for.
async fn drop_at_every_await<F>(trouble: Trouble, make: impl Fn(Simba) -> F)
where
    F: Future<Output = bool>,
{
    for polls in 0.. {
        let world = World::new();
        let simba = world.simba().await;
        trouble.befall(&world.backend);
        let done = polled(polls, trouble.step(), make(simba.clone())).await;
        // What was late is overtaken by what is dropped, at every distance.
        turns(polls % 7).await;
        world.assert_nothing_left(&simba, "x").await;
        world.backend.heal();
        sleep(trouble.gives_up_after()).await;
        simba.close().await.unwrap();
        if let Some(succeeded) = done {
            assert!(succeeded, "{trouble:?}");
            return;
        }
    }
}

#[test]
fn r15_acquire_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for trouble in TROUBLES {
            drop_at_every_await(trouble, |simba| async move {
                simba.lock("x").unwrap().acquire(5 * RENEW).await.is_ok()
            })
            .await;
        }
    });
}

#[test]
fn r15_try_acquire_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for trouble in TROUBLES {
            drop_at_every_await(trouble, |simba| async move {
                simba.lock("x").unwrap().try_acquire().await.is_ok_and(|term| term.is_some())
            })
            .await;
        }
    });
}

#[test]
fn r15_release_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for trouble in TROUBLES {
            drop_at_every_await(trouble, |simba| async move {
                let term = simba.lock("x").unwrap().acquire(5 * RENEW).await;
                let Ok(term) = term else { return false };
                term.release().await.is_ok()
            })
            .await;
        }
    });
}

#[test]
fn r15_with_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for trouble in TROUBLES {
            drop_at_every_await(trouble, |simba| async move {
                simba.lock("x").unwrap().with(5 * RENEW, async |_| turns(3).await).await.is_ok()
            })
            .await;
        }
    });
}

#[test]
fn r15_start_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for trouble in TROUBLES {
            let log = Log::default();
            // Lives on, so that only the dropped start can end the election.
            let leader = Leader::start("a", &log);
            drop_at_every_await(trouble, |simba| {
                let leader = leader.clone();
                async move {
                    let election = simba.election("x").unwrap().start(&leader).await;
                    let Ok(election) = election else { return false };
                    election.stop().await;
                    true
                }
            })
            .await;
        }
    });
}

#[test]
fn r15_run_while_leader_dropped_at_every_await_leaves_nothing() {
    virtually(async {
        for trouble in TROUBLES {
            drop_at_every_await(trouble, |simba| async move {
                let job = simba.election("x").unwrap().run_while_leader(|_| std::future::pending::<()>());
                let Ok(job) = job.await else { return false };
                job.stop().await;
                true
            })
            .await;
        }
    });
}

#[test]
fn r15_stop_and_step_down_dropped_at_every_await_go_on() {
    virtually(async {
        for trouble in TROUBLES {
            for stop in [true, false] {
                for polls in 1.. {
                    if end_dropped_after(polls, trouble, stop).await {
                        break;
                    }
                }
            }
        }
    });
}

/// Whether it was over before it was dropped.
async fn end_dropped_after(polls: usize, trouble: Trouble, stop: bool) -> bool {
    let (world, log) = (World::new(), Log::default());
    let simba = world.simba().await;
    let leader = Leader::start("a", &log);
    let election = simba.election("x").unwrap().start(&leader).await.unwrap();
    sleep(10 * MS).await;
    trouble.befall(&world.backend);
    let done = if stop {
        polled(polls, trouble.step(), election.stop()).await.is_some()
    } else {
        polled(polls, trouble.step(), election.step_down(10 * LEASE)).await.is_some()
    };
    sleep(RENEW).await;
    assert!(world.is_free("x").await, "{polls} polls, {trouble:?}, stop: {stop}");
    election.stop().await;
    log.assert_alternates("a");
    world.assert_nothing_left(&simba, "x").await;
    done
}

#[test]
fn r14_a_dropped_close_goes_on() {
    virtually(async {
        for trouble in TROUBLES {
            for polls in 1.. {
                if close_dropped_after(polls, trouble).await {
                    break;
                }
            }
        }
    });
}

/// Whether it was over before it was dropped.
async fn close_dropped_after(polls: usize, trouble: Trouble) -> bool {
    let (world, log) = (World::new(), Log::default());
    let simba = world.simba().await;
    let leader = Leader::start("a", &log);
    simba.election("x").unwrap().start(&leader).await.unwrap();
    let held = simba.lock("y").unwrap().acquire(RENEW).await.unwrap();
    trouble.befall(&world.backend);
    actix::spawn(async move {
        sleep(10 * MS).await;
        drop(held);
    });
    let done = polled(polls, trouble.step().max(MS), simba.close()).await.is_some();
    sleep(10 * MS + trouble.gives_up_after()).await;
    assert!(world.is_free("x").await && world.is_free("y").await, "{polls} polls, {trouble:?}");
    let closes = world.backend.count(Op::Close);
    assert!(closes == 1, "{closes} closes, {trouble:?}");
    let closed = simba.close().await;
    assert!(closed.is_ok(), "{closed:?}");
    log.assert_alternates("a");
    done
}

#[test]
fn r15_connect_dropped_at_every_await_leaves_no_session() {
    virtually(async {
        for latency in [Duration::ZERO, 10 * MS, 50 * MS] {
            for polls in 0.. {
                let world = World::new();
                if !latency.is_zero() {
                    world.backend.always(Op::Open, Behaviour::Late(latency));
                }
                let backend: Arc<dyn LeaseBackend> = Arc::new(world.backend.clone());
                let connect = Simba::builder().backend(backend).config(World::config()).on_this_thread();
                let connected = polled(polls, latency / 4, connect.connect()).await;
                let done = connected.is_some();
                drop(connected);
                sleep(RENEW + 100 * MS).await;
                let (opened, closed) = (world.backend.count(Op::Open), world.backend.count(Op::Close));
                assert_eq!(opened, closed, "{polls} polls leave a session");
                assert_eq!(world.backend.count(Op::KeepAlive), 0);
                if done {
                    break;
                }
            }
        }
    });
}
