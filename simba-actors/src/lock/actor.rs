//! One lock of this process: a queue of those who want it, of whom the first contends.
//! Parent: `SessionActor`. Children: none. Restarted after a panic it has lost its queue, whose waiters
//! hear `Closed`, and finds its term in the engine.

use std::{cell::Cell, collections::VecDeque, rc::Rc, time::Duration};

use actix::{Actor, Addr, AsyncContext, Context, Handler};
use simba_backends::{BackendError, LeaseName, Token};
use tokio::sync::oneshot;
use tracing::debug;

use super::{
    LockError, LockRequest, LockTerm,
    messages::{GiveUp, Patience, Unlock, WaiterId},
};
use crate::{
    Reason, SimbaEvent, Term,
    backend::{Acquire, BackendActor, HandOver, LeaseNews, Release, Resume},
    engine::Goal,
    event::EventBus,
    session::{LockIdle, SessionActor, SimbaClosed},
};

/// How many may wait for one lock in one process.
const MOST_WAITERS: usize = 65_536;

/// What every life of the actor works with.
pub(crate) struct LockSpec {
    pub(crate) name: LeaseName,
    pub(crate) backend: Addr<BackendActor>,
    pub(crate) session: Addr<SessionActor>,
    pub(crate) events: EventBus,
    /// How many requests were handled, over all lives.
    pub(crate) handled: Cell<u64>,
    /// How often the actor was built.
    pub(crate) lives: Cell<u32>,
}

pub(crate) struct LockActor {
    spec: Rc<LockSpec>,
    queue: VecDeque<Waiter>,
    stage: Stage,
    /// Who waits for the storage to confirm the release.
    unlocking: Vec<oneshot::Sender<()>>,
    /// Why the last attempt failed, if it did.
    last_error: Option<BackendError>,
    doors: Doors,
    /// While news is owed the actor stays, or its end would not be published.
    owed: Owed,
}

struct Waiter {
    id: WaiterId,
    patience: Patience,
    reply: oneshot::Sender<Result<Option<LockTerm>, LockError>>,
}

/// Where the lock stands, seen from here.
enum Stage {
    /// Nobody here wants it.
    Idle,
    /// The first of the queue wants it.
    Contending,
    /// Somebody here has it.
    Held(Token),
}

/// What is still to come after a release.
#[derive(PartialEq, Eq)]
enum Owed {
    Nothing,
    Settled,
}

#[derive(PartialEq, Eq)]
enum Doors {
    Open,
    /// Simba is being closed.
    Closed,
}

impl LockActor {
    pub(crate) fn new(spec: Rc<LockSpec>) -> Self {
        Self {
            spec,
            queue: VecDeque::new(),
            stage: Stage::Idle,
            unlocking: Vec::new(),
            last_error: None,
            doors: Doors::Open,
            owed: Owed::Nothing,
        }
    }

    fn enqueue(&mut self, request: LockRequest, ctx: &mut Context<Self>) {
        if self.doors == Doors::Closed {
            return request.refuse(LockError::Closed);
        }
        let (name, waiting) = (self.spec.name.clone(), self.queue.len());
        if waiting >= MOST_WAITERS {
            return request.refuse(LockError::TooManyWaiters { name, waiting });
        }
        let LockRequest { name: _, id, patience, reply, permit } = request;
        drop(permit);
        let behind_another = waiting > 0 || matches!(self.stage, Stage::Held(_));
        if patience == Patience::OneAttempt && behind_another {
            // Who asked may be gone, here and wherever else a reply is sent.
            let _ = reply.send(Ok(None));
            return;
        }
        self.queue.push_back(Waiter { id, patience, reply });
        self.contend(ctx);
    }

    /// Contends for the first of the queue, if it is not done already.
    fn contend(&mut self, ctx: &mut Context<Self>) {
        if matches!(self.stage, Stage::Idle) && !self.queue.is_empty() {
            self.stage = Stage::Contending;
            let (name, news) = (self.spec.name.clone(), ctx.address().recipient());
            self.spec.backend.do_send(Acquire { name, goal: Goal::OneTerm, news });
        }
    }

    fn started(&mut self, term: Term, ctx: &mut Context<Self>) {
        let token = term.token();
        self.stage = Stage::Held(token);
        self.last_error = None;
        debug!(name = %term.name(), %token, session = %term.session(), "lock acquired");
        self.publish(|name| SimbaEvent::LockAcquired { name, token });
        let held = LockTerm::new(term, ctx.address());
        match self.queue.pop_front() {
            // A lock that nobody takes is released by its drop.
            None => drop(held),
            Some(waiter) => drop(waiter.reply.send(Ok(Some(held)))),
        }
    }

    fn unlock(&mut self, Unlock { token, reply }: Unlock, ctx: &mut Context<Self>) {
        if !matches!(self.stage, Stage::Held(held) if held == token) {
            // Lost before: the term tells why.
            let _ = reply.map(|reply| reply.send(()));
            return;
        }
        self.stage = Stage::Idle;
        self.unlocking.extend(reply);
        self.release();
        let name = self.spec.name.clone();
        self.spec.backend.do_send(HandOver { name, token });
        self.contend(ctx);
    }

    /// Its end, whatever ended it, is published once, by the news of it.
    fn ended(&mut self, term: &Term, reason: Reason) {
        let token = term.token();
        debug!(name = %term.name(), %token, session = %term.session(), %reason, "lock ended");
        self.publish(|name| SimbaEvent::LockReleased { name, token, reason });
    }

    fn lost(&mut self, term: &Term, ctx: &mut Context<Self>) {
        if matches!(self.stage, Stage::Held(held) if held == term.token()) {
            self.stage = Stage::Idle;
            self.contend(ctx);
        }
    }

    /// Another holds it: who has patience for one attempt has had it.
    fn refused(&mut self) {
        if let Some(waiter) = self.queue.pop_front_if(|waiter| waiter.patience == Patience::OneAttempt) {
            let _ = waiter.reply.send(Ok(None));
            self.stop_if_unwanted();
        }
    }

    fn failed(&mut self, error: BackendError) {
        if let Some(waiter) = self.queue.pop_front_if(|waiter| waiter.patience == Patience::OneAttempt) {
            let name = self.spec.name.clone();
            let _ = waiter.reply.send(Err(LockError::Backend { name, source: error }));
            return self.stop_if_unwanted();
        }
        self.publish(|name| SimbaEvent::AttemptFailed { name, error: error.to_string() });
        self.last_error = Some(error);
    }

    fn give_up(&mut self, id: WaiterId, waited: Option<Duration>) {
        let Some(at) = self.queue.iter().position(|waiter| waiter.id == id) else { return };
        let waiter = self.queue.remove(at);
        if let (Some(waiter), Some(waited)) = (waiter, waited) {
            let (name, last) = (self.spec.name.clone(), self.last_error.clone());
            let _ = waiter.reply.send(Err(LockError::Timeout { name, waited, last }));
        }
        self.stop_if_unwanted();
    }

    /// Contends no more when nobody is left to contend for. A grant under way is released (R5).
    fn stop_if_unwanted(&mut self) {
        if self.queue.is_empty() && matches!(self.stage, Stage::Contending) {
            self.stage = Stage::Idle;
            self.release();
        }
    }

    fn release(&mut self) {
        self.owed = Owed::Settled;
        let name = self.spec.name.clone();
        self.spec.backend.do_send(Release { name, reason: Reason::Released });
    }

    fn close(&mut self) {
        self.doors = Doors::Closed;
        for waiter in self.queue.drain(..) {
            let _ = waiter.reply.send(Err(LockError::Closed));
        }
    }

    fn confirmed(&mut self) {
        self.owed = Owed::Nothing;
        for reply in self.unlocking.drain(..) {
            let _ = reply.send(());
        }
    }

    /// Says so when nothing is left to do; the parent knows whether more requests are on their way.
    fn say_if_idle(&self) {
        let quiet = self.unlocking.is_empty() && self.owed == Owed::Nothing;
        if quiet && self.queue.is_empty() && matches!(self.stage, Stage::Idle) {
            let (name, handled) = (self.spec.name.clone(), self.spec.handled.get());
            self.spec.session.do_send(LockIdle { name, handled });
        }
    }

    fn publish(&self, event: impl FnOnce(LeaseName) -> SimbaEvent) {
        self.spec.events.publish(event(self.spec.name.clone()));
    }
}

impl Actor for LockActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if self.spec.lives.replace(self.spec.lives.get() + 1) > 0 {
            let (name, news) = (self.spec.name.clone(), ctx.address().recipient());
            self.spec.backend.do_send(Resume { name, news });
        }
    }
}

impl Handler<LockRequest> for LockActor {
    type Result = ();
    fn handle(&mut self, request: LockRequest, ctx: &mut Context<Self>) {
        self.spec.handled.set(self.spec.handled.get() + 1);
        self.enqueue(request, ctx);
        self.say_if_idle();
    }
}

impl Handler<GiveUp> for LockActor {
    type Result = ();
    fn handle(&mut self, GiveUp { name: _, id, waited }: GiveUp, _: &mut Context<Self>) {
        self.give_up(id, waited);
        self.say_if_idle();
    }
}

impl Handler<Unlock> for LockActor {
    type Result = ();
    fn handle(&mut self, unlock: Unlock, ctx: &mut Context<Self>) {
        self.unlock(unlock, ctx);
    }
}

impl Handler<LeaseNews> for LockActor {
    type Result = ();
    fn handle(&mut self, news: LeaseNews, ctx: &mut Context<Self>) {
        match news {
            LeaseNews::Started(term) => self.started(term, ctx),
            // Released, or closed: the holder still has it, and its drop hands it over.
            LeaseNews::Ending(term, reason) => self.ended(&term, reason),
            LeaseNews::Ended(term, reason) => {
                self.ended(&term, reason);
                self.lost(&term, ctx);
            }
            LeaseNews::Overdue(term) => self.lost(&term, ctx),
            LeaseNews::Refused => self.refused(),
            LeaseNews::Failed(error) => self.failed(error),
            LeaseNews::Settled => self.confirmed(),
            LeaseNews::Resumed(term) => {
                self.stage = term.map_or(Stage::Idle, |term| Stage::Held(term.token()))
            }
        }
        self.say_if_idle();
    }
}

impl Handler<SimbaClosed> for LockActor {
    type Result = ();
    fn handle(&mut self, closed: SimbaClosed, _: &mut Context<Self>) {
        self.close();
        match closed {
            SimbaClosed::Begun => self.stop_if_unwanted(),
            SimbaClosed::Over => self.confirmed(),
        }
    }
}
