//! Users of elections: one stint after the other, each with another kind of leader.

use std::{rc::Rc, time::Duration};

use actix::prelude::*;
use simba_actors::{Election, LeaderActor, LeaseName, LockError, StartError, supervise};
use tokio::time::{sleep, timeout};

use crate::{
    diary::{Diary, Ear},
    job,
    leader::{Blocking, Open, Part, Role},
    life::Life,
    timing::{LONGEST_STAY_OUT, stopping},
};

/// Contends for one name until it is aborted.
pub(crate) async fn contend(life: Rc<Life>, name: LeaseName) {
    loop {
        life.world.reign(|reign, _| reign.starts_anew(life.number, &name));
        match life.world.dice(|dice| dice.roll(10)) {
            0..3 => job::stint(&life, &name).await,
            3..5 => stint(&life, &name, Ear::Blocked, Blocking).await,
            _ => stint(&life, &name, Ear::Open, Open).await,
        }
        sleep(life.world.dice(|dice| dice.millis(1..800))).await;
    }
}

/// A diary that ends with its user.
pub(crate) struct Keeper<'a> {
    life: &'a Life,
    pub(crate) diary: usize,
}

impl<'a> Keeper<'a> {
    fn new(life: &'a Life, name: &LeaseName, role: &str, ear: Ear) -> Self {
        let who = format!("{role} of {name} on n{} life {}", life.node, life.number);
        Self { life, diary: life.world.open_diary(who, life.number, ear) }
    }

    fn stopped(&self) {
        self.life.world.diary(self.diary, Diary::stopped);
    }

    fn gone(&self) {
        self.life.world.diary(self.diary, |diary| {
            diary.gone();
            Ok(())
        });
    }
}

impl Drop for Keeper<'_> {
    fn drop(&mut self) {
        self.gone();
    }
}

async fn stint<A>(life: &Rc<Life>, name: &LeaseName, ear: Ear, make: fn(Part) -> A)
where
    A: LeaderActor + Actor<Context = Context<A>>,
{
    let keeper = Keeper::new(life, name, "leader", ear);
    let (world, diary) = (life.world.clone(), keeper.diary);
    let supervised = world.dice(|dice| dice.happens(500));
    let part = Part { world, node: life.node, diary, role: Role::Leads, supervised };
    let leader = if supervised { supervise(move || make(part.clone())) } else { make(part).start() };
    let builder = life.simba.election(name).expect("a good name");
    if life.storms(50) {
        // Dropped on its way: it is stopped again.
        let patience = life.world.dice(|dice| dice.millis(0..3));
        drop(timeout(patience, builder.start(&leader)).await);
        return;
    }
    match builder.start(&leader).await {
        Ok(election) => run(life, &election, leader, keeper).await,
        Err(StartError::Closed) => std::future::pending().await,
        Err(_in_use) => {}
    }
}

async fn run<A: LeaderActor>(life: &Rc<Life>, election: &Election, leader: Addr<A>, keeper: Keeper<'_>) {
    let mut listeners = Vec::new();
    while leader.connected() {
        sleep(life.world.dice(|dice| dice.millis(50..3000))).await;
        if let Some(term) = election.term() {
            life.world.watch(life.node, &term);
        }
        if life.world.is_calm() {
            continue;
        }
        match life.world.dice(|dice| dice.roll(12)) {
            0 | 1 => step_down(life, election).await,
            2 => one_name_one_use(life, election, &leader).await,
            3 => listeners.push(subscribe(life, election)),
            4 => drop(listeners.pop()),
            5 => drop(election.leader().await),
            6 => {
                stop(life, election).await;
                keeper.stopped();
                listeners.iter().for_each(|(_, listener)| listener.stopped());
                sleep(life.world.dice(|dice| dice.millis(1..3000))).await;
                return;
            }
            7 => break,
            _ => {}
        }
    }
    // The leader goes first, and the election after it.
    drop(leader);
    keeper.gone();
    sleep(life.world.dice(|dice| dice.millis(0..2000))).await;
    stop(life, election).await;
}

fn subscribe<'a>(life: &'a Life, election: &Election) -> (Addr<Open>, Keeper<'a>) {
    let keeper = Keeper::new(life, election.name(), "listener", Ear::Open);
    let (world, diary) = (life.world.clone(), keeper.diary);
    let listener =
        Open(Part { world, node: life.node, diary, role: Role::Listens, supervised: false }).start();
    election.subscribe(&listener);
    (listener, keeper)
}

/// Stops, within the bound.
pub(crate) async fn stop(life: &Life, election: &Election) {
    if timeout(stopping(), election.stop()).await.is_err() {
        life.world.fail(format!("R12: {} of n{} does not stop in time", election.name(), life.node));
    }
}

/// Steps down, within the bound; or drops the call, which changes nothing.
pub(crate) async fn step_down(life: &Life, election: &Election) {
    let world = &life.world;
    let stay_out = world.dice(|dice| dice.millis(0..LONGEST_STAY_OUT));
    world.note(format_args!("n{} steps down from {} for {stay_out:?}", life.node, election.name()));
    world.reign(|reign, now| reign.stays_out(life.number, election.name(), now, now + stay_out));
    let dropped = life.storms(200);
    let patience = if dropped { Duration::from_millis(1) } else { stopping() };
    if timeout(patience, election.step_down(stay_out)).await.is_err() && !dropped {
        world.fail(format!("R17: {} of n{} does not step down in time", election.name(), life.node));
    }
}

/// R13, while the election certainly goes on.
async fn one_name_one_use<A: LeaderActor>(life: &Life, election: &Election, leader: &Addr<A>) {
    let name = election.name();
    let locked = life.simba.lock(name).expect("a good name").try_acquire().await;
    let again = life.simba.election(name).expect("a good name").start(leader).await;
    let refused = matches!(locked, Err(LockError::InUse { .. } | LockError::Closed))
        && matches!(again, Err(StartError::InUse { .. } | StartError::Closed));
    if !refused && leader.connected() {
        life.world.fail(format!("R13: {name} has two uses on n{}: {locked:?}, {again:?}", life.node));
    }
}

/// A diary of a job.
pub(crate) fn of_job<'a>(life: &'a Life, name: &LeaseName) -> Keeper<'a> {
    Keeper::new(life, name, "job", Ear::Open)
}

impl Keeper<'_> {
    /// The job has ended, and its work with it.
    pub(crate) fn job_ended(&self) {
        self.stopped();
    }
}
