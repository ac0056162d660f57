//! One call on its way. A request that was sent goes on alone: who gives up on it does not stop it.

use std::sync::Arc;

use simba_actors::backends::{BackendError, ErrorKind, LeaseName, Outcome, memory::MemoryBackend};
use tokio::{sync::oneshot, time::sleep};

use crate::{
    weather::{Cut, Fate, Passage, Slow},
    world::World,
};

/// Carries a request to the storage, where `effect` is what it does, and the answer back.
pub(crate) async fn carry<T: Send + 'static>(
    world: Arc<World>,
    node: usize,
    what: String,
    names: Vec<LeaseName>,
    effect: impl Fn(&World, &MemoryBackend) -> T + Send + 'static,
) -> Result<T, BackendError> {
    let mut passage = world.dice(|dice| world.weather(|weather| weather.passage(dice)));
    if let Some((name, Slow::Call(by))) = world.weather(|weather| weather.slow.clone())
        && names.contains(&name)
    {
        passage.there += by;
    }
    world.note(format_args!("n{node} sends {what} {:?}", passage.fate));
    let (reply, answer) = oneshot::channel();
    tokio::spawn(travel(world, node, what, passage, effect, reply));
    match answer.await {
        Ok(answer) => answer,
        Err(_lost) => std::future::pending().await,
    }
}

async fn travel<T: Send + 'static>(
    world: Arc<World>,
    node: usize,
    what: String,
    passage: Passage,
    effect: impl Fn(&World, &MemoryBackend) -> T + Send + 'static,
    reply: oneshot::Sender<Result<T, BackendError>>,
) {
    sleep(passage.there).await;
    let lost = world.weather(|weather| weather.is_cut(node, Cut::There));
    match passage.fate {
        _ if lost => return,
        Fate::RequestLost => return,
        Fate::Refused => return drop(reply.send(Err(refused()))),
        Fate::RequestReset => return drop(reply.send(Err(reset()))),
        Fate::Carried | Fate::ReplyLost | Fate::ReplyReset => {}
    }
    let answer = effect(&world, &world.memory);
    if reply.is_closed() {
        world.reign(|reign, now| reign.strays(now));
    }
    world.note(format_args!("n{node} applied {what}"));
    world.check();
    sleep(passage.back).await;
    let lost = world.weather(|weather| weather.is_cut(node, Cut::Back));
    match passage.fate {
        Fate::ReplyReset => drop(reply.send(Err(reset()))),
        Fate::Carried if !lost => drop(reply.send(Ok(answer))),
        Fate::Carried | Fate::ReplyLost | Fate::RequestLost | Fate::RequestReset | Fate::Refused => {
            drop(reply)
        }
    }
    if let Some(later) = passage.again {
        sleep(later).await;
        world.note(format_args!("n{node} applied again {what}"));
        effect(&world, &world.memory);
        world.reign(|reign, now| reign.strays(now));
        world.check();
    }
}

fn refused() -> BackendError {
    BackendError::new(ErrorKind::Unavailable, Outcome::NotApplied, "refused")
}

fn reset() -> BackendError {
    BackendError::new(ErrorKind::Unavailable, Outcome::Unknown, "connection reset")
}

pub(crate) fn timed_out() -> BackendError {
    BackendError::timeout("the name is locked")
}
