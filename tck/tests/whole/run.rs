//! One run: a storm, then calm weather in which somebody must lead, then a crash, then the end.

use std::{sync::Arc, time::Duration};

use actix::System;
use futures_util::future::join_all;
use tokio::{
    runtime::{Builder, Handle},
    time::sleep,
};

use crate::{
    lie::Lie,
    life::{Running, lives},
    timing::{LEASE, SETTLED, TICK, leaderless},
    unforeseen,
    weather::spells,
    world::World,
};

const STORM: Duration = Duration::from_secs(40);
const CALM: Duration = Duration::from_secs(6);

pub(crate) struct Outcome {
    /// The first violation.
    pub(crate) failure: Option<String>,
    /// How many lines the trace has, and their hash.
    pub(crate) digest: (u64, u64),
    /// The last of them.
    pub(crate) tail: String,
    pub(crate) virtual_time: Duration,
}

/// Plays one seed on a paused runtime of its own.
pub(crate) fn run(seed: u64, lie: Lie) -> Outcome {
    unforeseen::watch();
    let runtime = || {
        let builder = &mut Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().expect("a runtime without IO")
    };
    System::with_tokio_rt(runtime).block_on(async move {
        let world = World::new(seed, lie);
        // The first violation has ended it early, and is in the world.
        let _ = play(&world).await;
        Outcome {
            failure: world.failure(),
            digest: world.trace(|trace| trace.digest()),
            tail: world.trace(|trace| trace.tail()),
            virtual_time: world.now(),
        }
    })
}

/// Says that the run has failed.
struct Failed;

async fn play(world: &Arc<World>) -> Result<(), Failed> {
    let at_first = Handle::current().metrics().num_alive_tasks();
    for _ in 0..2 {
        actix::spawn(spells(world.clone()));
    }
    let nodes: Vec<_> = (0..world.nodes).map(|node| actix::spawn(lives(world.clone(), node))).collect();
    pass(world, STORM).await?;
    world.say(format_args!("the weather is calm from now on"));
    world.weather(|weather| weather.clear_up());
    pass(world, SETTLED).await?;
    let mut running = Vec::new();
    for node in nodes {
        if !node.is_finished() {
            world.fail("a node has not connected in calm weather".to_owned());
            return Err(Failed);
        }
        running.extend(node.await);
    }
    world.reign(|reign, now| reign.measure_from(now, &world.elections));
    pass_under_a_leader(world, CALM).await?;
    crash(world, &running);
    pass_under_a_leader(world, leaderless() + LEASE).await?;
    end(world, running, at_first).await
}

/// Lets time pass, and looks at everything all the time.
async fn pass(world: &World, time: Duration) -> Result<(), Failed> {
    let until = world.now() + time;
    while world.now() < until {
        sleep(TICK).await;
        world.check();
        if let Some(panic) = unforeseen::panic_of_this_thread() {
            world.fail(format!("a panic that nobody staged: {panic}"));
        }
        if world.failure().is_some() {
            return Err(Failed);
        }
    }
    Ok(())
}

async fn pass_under_a_leader(world: &World, time: Duration) -> Result<(), Failed> {
    let until = world.now() + time;
    while world.now() < until {
        pass(world, TICK).await?;
        world.expect(world.reign(|reign, now| reign.check_vacancies(now, &world.elections)));
    }
    Ok(())
}

/// Cuts off a leader for good: a process that crashed, seen from outside.
fn crash(world: &World, running: &[Running]) {
    let leads = |running: &&Running| {
        world.reign(|reign, _| reign.led_by(running.life.number).contains(&world.elections[0]))
    };
    let Some(leader) = running.iter().find(leads) else {
        return world.fail("I10: nobody leads in calm weather".to_owned());
    };
    world.say(format_args!("n{} crashes", leader.life.node));
    world.weather(|weather| weather.cut_off(leader.life.node));
    world.reign(|reign, now| reign.crash(now, leader.life.number));
}

/// Everybody closes, and nothing is left (I15).
async fn end(world: &World, running: Vec<Running>, tasks_at_first: usize) -> Result<(), Failed> {
    join_all(running.into_iter().map(Running::close)).await;
    world.check_nothing_is_held();
    // Whatever is still under way to the storage.
    pass(world, LEASE * 2).await?;
    // The handlers that do not resolve by themselves.
    let _ = world.over.set(());
    pass(world, LEASE).await?;
    world.check_nothing_runs();
    world.check_nothing_is_held();
    world.check_no_session_lives();
    world.end_all_diaries();
    let tasks = Handle::current().metrics().num_alive_tasks();
    if tasks != tasks_at_first {
        world.fail(format!("I15: {tasks} tasks are left, {tasks_at_first} were at first"));
    }
    world.failure().map_or(Ok(()), |_| Err(Failed))
}
