//! Users of jobs: work that returns, breaks, panics, or goes on until its term ends.

use std::{future::pending, ops::ControlFlow, pin::pin, rc::Rc, sync::Arc, time::Duration};

use simba_actors::{LeaseName, StartError, Term};
use tokio::time::{sleep, timeout};

use crate::{
    contender::{of_job, step_down, stop},
    ledger::{Busy, Kind},
    life::Life,
    timing::stopping,
    unforeseen::SIMULATED,
    world::World,
};

/// Work for one term, as its diary sees it: from the call of the closure to the drop of its future.
struct Work {
    world: Arc<World>,
    diary: usize,
    term: Term,
    _busy: Busy,
}

impl Work {
    fn begin(world: &Arc<World>, node: usize, diary: usize, term: Term) -> Self {
        world.diary(diary, |diary| diary.elected(term.token()));
        if !term.is_valid() {
            world.fail(format!("work begins for {} #{}, which has ended", term.name(), term.token()));
        }
        let busy = world.busy(node, &term, Kind::Work);
        Self { world: world.clone(), diary, term, _busy: busy }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.world.diary(self.diary, |diary| diary.revoked(self.term.token()));
    }
}

#[derive(Clone, Copy, Debug)]
enum Mood {
    Stays,
    Returns(Duration),
    Breaks(Duration),
    Panics(Duration),
    PanicsAtOnce,
}

fn mood(world: &World) -> Mood {
    if world.is_calm() {
        return Mood::Stays;
    }
    world.dice(|dice| {
        let lasts = dice.millis(0..3000);
        match dice.roll(12) {
            0..6 => Mood::Stays,
            6..9 => Mood::Returns(lasts),
            9 => Mood::Breaks(lasts),
            10 => Mood::Panics(lasts),
            _ => Mood::PanicsAtOnce,
        }
    })
}

async fn work(mood: Mood, _work: Work) -> ControlFlow<u64> {
    match mood {
        Mood::Stays | Mood::PanicsAtOnce => pending().await,
        Mood::Returns(lasts) => {
            sleep(lasts).await;
            ControlFlow::Continue(())
        }
        Mood::Breaks(lasts) => {
            sleep(lasts).await;
            ControlFlow::Break(7)
        }
        Mood::Panics(lasts) => {
            sleep(lasts).await;
            panic!("{SIMULATED}")
        }
    }
}

pub(crate) async fn stint(life: &Rc<Life>, name: &LeaseName) {
    let keeper = of_job(life, name);
    let (world, node, diary) = (life.world.clone(), life.node, keeper.diary);
    let starting = life.simba.election(name).expect("a good name").run_while_leader(move |term| {
        let (begun, mood) = (Work::begin(&world, node, diary, term), mood(&world));
        if let Mood::PanicsAtOnce = mood {
            panic!("{SIMULATED}");
        }
        work(mood, begun)
    });
    let job = match starting.await {
        Ok(job) => job,
        Err(StartError::Closed) => pending().await,
        Err(_in_use) => return,
    };
    let election = job.election().clone();
    let mut ended = pin!(job.join());
    loop {
        let pause = life.world.dice(|dice| dice.millis(50..3000));
        let over = timeout(pause, ended.as_mut()).await;
        if over.is_ok() {
            // It broke, and has stopped; or Simba was closed.
            keeper.job_ended();
            return stop(life, &election).await;
        }
        match life.world.dice(|dice| dice.roll(8)) {
            _ if life.world.is_calm() => {}
            0 | 1 => step_down(life, &election).await,
            2 => break,
            _ => {}
        }
    }
    stop(life, &election).await;
    if timeout(stopping(), ended).await.is_err() {
        life.world.fail(format!("the job {name} of n{node} goes on after its stop"));
    }
    // Work whose term ended by force in this very moment is dropped by the job's own task.
    keeper.job_ended();
}
