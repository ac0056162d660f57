//! One Simba of a node, from its connect to its close, with its users.

use std::{rc::Rc, sync::Arc};

use simba_actors::{Events, Simba, SimbaEvent};
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::{
    contender::contend,
    locker::ask,
    storage::Storage,
    timing::{closing, config},
    world::World,
};

pub(crate) struct Life {
    pub(crate) world: Arc<World>,
    pub(crate) node: usize,
    /// Which of all lives of all nodes.
    pub(crate) number: usize,
    pub(crate) simba: Simba,
    /// Sessions with this number or a later one are its own, where they are this node's.
    first_session: usize,
}

impl Life {
    /// Says yes in so many of a thousand cases, and never in calm weather.
    pub(crate) fn storms(&self, per_mille: u64) -> bool {
        !self.world.is_calm() && self.world.dice(|dice| dice.happens(per_mille))
    }
}

/// A life and what runs in it.
pub(crate) struct Running {
    pub(crate) life: Rc<Life>,
    users: Vec<JoinHandle<()>>,
}

/// Lives until the weather is calm, and leaves the last life running.
pub(crate) async fn lives(world: Arc<World>, node: usize) -> Running {
    loop {
        let running = begin(&world, node).await;
        let until = world.now() + world.dice(|dice| dice.millis(500..25_000));
        while !world.is_calm() && world.now() < until {
            sleep(world.dice(|dice| dice.millis(10..100))).await;
        }
        if world.is_calm() {
            return running;
        }
        running.end().await;
        sleep(world.dice(|dice| dice.millis(0..3000))).await;
    }
}

async fn begin(world: &Arc<World>, node: usize) -> Running {
    let first_session = world.sessions(|sessions| sessions.count());
    let simba = loop {
        let storage = Arc::new(Storage::new(world.clone(), node));
        world.opened(&storage);
        let seed = world.dice(|dice| dice.roll(u64::MAX));
        let connecting = Simba::builder().backend(storage).config(config()).on_this_thread().seed(seed);
        // Some callers lose patience; then nothing may be left.
        let patience = world.dice(|dice| dice.millis(1..5000));
        match timeout(patience, connecting.connect()).await {
            Ok(Ok(simba)) => break simba,
            Ok(Err(error)) => world.note(format_args!("n{node} cannot connect: {error}")),
            Err(_given_up) => world.note(format_args!("n{node} gives up to connect")),
        }
        sleep(world.dice(|dice| dice.millis(1..500))).await;
    };
    let number = world.next_life();
    world.note(format_args!("n{node} begins life {number}"));
    actix::spawn(listen(world.clone(), number, simba.events()));
    let life = Rc::new(Life { world: world.clone(), node, number, simba, first_session });
    let contenders = world.elections.iter().map(|name| actix::spawn(contend(life.clone(), name.clone())));
    let mut users: Vec<_> = contenders.collect();
    users.extend((0..2).map(|_| actix::spawn(ask(life.clone()))));
    Running { life, users }
}

impl Running {
    /// One of the ways in which programs end.
    async fn end(self) {
        match self.life.world.dice(|dice| dice.roll(4)) {
            0 | 1 => self.close().await,
            2 => {
                let patience = self.life.world.dice(|dice| dice.millis(0..10));
                drop(timeout(patience, self.life.simba.close()).await);
                self.drop_all();
            }
            _ => self.drop_all(),
        }
    }

    /// Drops everything wherever it is; the last Simba closes without waiting.
    fn drop_all(self) {
        self.life.world.note(format_args!("n{} drops life {}", self.life.node, self.life.number));
        self.users.iter().for_each(JoinHandle::abort);
    }

    /// R14.
    pub(crate) async fn close(self) {
        let Life { world, node, number, simba, .. } = &*self.life;
        world.note(format_args!("n{node} closes life {number}"));
        let calm = world.is_calm() && !world.reign(|reign, _| reign.is_crashed(*number));
        match timeout(closing(), simba.close()).await {
            Err(_) => world.fail(format!("R14: n{node} does not close in time")),
            Ok(Ok(())) => self.check_freed(),
            Ok(Err(error)) if calm => world.fail(format!("R14: n{node} in calm weather: {error}")),
            Ok(Err(error)) => world.note(format_args!("n{node} {error}")),
        }
        world.end_diaries(*number);
        world.say(format_args!("n{node} closed life {number}"));
        self.drop_all();
    }

    /// I8: a close that says so has freed everything.
    fn check_freed(&self) {
        let Life { world, node, number, first_session, .. } = &*self.life;
        // What the storage did behind its back, nobody here can know.
        if world.reign(|reign, now| reign.has_expired_lately(now, *number) || reign.has_strayed_lately(now)) {
            return;
        }
        for name in world.elections.iter().chain(&world.locks) {
            let Some(holder) = world.holder(name) else { continue };
            if world.sessions(|sessions| sessions.is_of(&holder.session, *node, *first_session)) {
                world.fail(format!("I8: {name} is still held by {} of the closed n{node}", holder.session));
            }
        }
    }
}

/// Follows the events of one life to the last.
async fn listen(world: Arc<World>, life: usize, mut events: Events) {
    while let Some(event) = events.next().await {
        judge(&world, life, &event);
        world.say(format_args!("life {life} {event:?}"));
    }
    world.heard_last(life);
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the others say nothing that could be wrong")]
fn judge(world: &World, life: usize, event: &SimbaEvent) {
    match event {
        SimbaEvent::Elected { name, token } | SimbaEvent::LockAcquired { name, token } => {
            world.expect(world.reign(|reign, now| reign.begun(now, life, name, *token)));
        }
        SimbaEvent::Revoked { name, token, .. } | SimbaEvent::LockReleased { name, token, .. } => {
            world.expect(world.reign(|reign, now| reign.ended(now, life, name, *token)));
        }
        SimbaEvent::SessionExpired { .. } => world.reign(|reign, now| reign.expired(now, life)),
        SimbaEvent::ClockStep { .. } if world.reign(|reign, now| reign.has_strayed_lately(now)) => {}
        SimbaEvent::TokenRegressed { .. }
        | SimbaEvent::ClockStep { .. }
        | SimbaEvent::ActorRestarted { .. }
        | SimbaEvent::Missed { .. } => world.fail(format!("nothing of this world gives cause to {event:?}")),
        _ => {}
    }
}
