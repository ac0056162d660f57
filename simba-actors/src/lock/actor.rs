//! One lock of this process: a queue of those who want it, of whom the first contends.
//! Parent: `SessionActor`. Children: none. Restarted after a panic it goes on with its queue, and
//! finds its term in the engine.

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
    backend::{Acquire, BackendActor, LeaseNews, Release, Requests, Resume, hand_over},
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
    /// Left by one life for the next.
    pub(crate) kept: Cell<Kept>,
}

pub(crate) struct LockActor {
    spec: Rc<LockSpec>,
    kept: Kept,
}

/// What outlives a panic of the actor.
#[derive(Default)]
pub(crate) struct Kept {
    queue: VecDeque<Waiter>,
    stage: Stage,
    /// Releases; who waits for one waits for the storage's confirmation.
    releases: Requests<oneshot::Sender<()>>,
    /// The term whose begin was published and whose end was not.
    published: Option<Token>,
    /// Why the last attempt was not answered, if it was not.
    last_error: Option<BackendError>,
    doors: Doors,
}

struct Waiter {
    id: WaiterId,
    patience: Patience,
    reply: oneshot::Sender<Result<Option<LockTerm>, LockError>>,
}

/// Where the lock stands, seen from here.
#[derive(Default)]
enum Stage {
    /// Nobody here wants it.
    #[default]
    Idle,
    /// The first of the queue wants it.
    Contending,
    /// Somebody here has it.
    Held(Token),
}

#[derive(Default, PartialEq, Eq)]
enum Doors {
    #[default]
    Open,
    /// Simba is being closed.
    Closed,
}

impl LockActor {
    pub(crate) fn new(spec: Rc<LockSpec>) -> Self {
        let kept = spec.kept.take();
        Self { spec, kept }
    }

    fn enqueue(&mut self, request: LockRequest, ctx: &mut Context<Self>) {
        if self.kept.doors == Doors::Closed {
            return request.refuse(LockError::Closed);
        }
        let (name, waiting) = (self.spec.name.clone(), self.kept.queue.len());
        if waiting >= MOST_WAITERS {
            return request.refuse(LockError::TooManyWaiters { name, waiting });
        }
        let LockRequest { name: _, id, patience, reply, permit } = request;
        drop(permit);
        let behind_another = waiting > 0 || matches!(self.kept.stage, Stage::Held(_));
        if patience == Patience::OneAttempt && behind_another {
            // Who asked may be gone, here and wherever else a reply is sent.
            let _ = reply.send(Ok(None));
            return;
        }
        self.kept.queue.push_back(Waiter { id, patience, reply });
        self.contend(ctx);
    }

    /// Contends for the first of the queue, if it is not done already.
    fn contend(&mut self, ctx: &mut Context<Self>) {
        if matches!(self.kept.stage, Stage::Idle) && !self.kept.queue.is_empty() {
            self.kept.stage = Stage::Contending;
            self.kept.last_error = None;
            let (name, news) = (self.spec.name.clone(), ctx.address().recipient());
            self.spec.backend.do_send(Acquire { name, goal: Goal::OneTerm, news });
        }
    }

    fn started(&mut self, term: Term, ctx: &mut Context<Self>) {
        let token = term.token();
        if self.kept.releases.on_their_way() {
            // Won by a wish that was withdrawn: it ends when the engine hears of that (R5).
            return;
        }
        self.kept.stage = Stage::Held(token);
        self.kept.published = Some(token);
        debug!(name = %term.name(), %token, session = %term.session(), "lock acquired");
        self.publish(|name| SimbaEvent::LockAcquired { name, token });
        let held = LockTerm::new(term, ctx.address());
        match self.kept.queue.pop_front() {
            // A lock that nobody takes is released by its drop.
            None => drop(held),
            Some(waiter) => drop(waiter.reply.send(Ok(Some(held)))),
        }
    }

    fn unlock(&mut self, Unlock { term, reply }: Unlock, ctx: &mut Context<Self>) {
        if !matches!(self.kept.stage, Stage::Held(held) if held == term.token()) {
            // Lost before: the term tells why.
            let _ = reply.map(|reply| reply.send(()));
            return;
        }
        self.release(reply);
        if term.reason().is_some() {
            // A close has ended it already.
            hand_over(term, &self.spec.backend);
        }
        self.contend(ctx);
    }

    fn release(&mut self, reply: Option<oneshot::Sender<()>>) {
        self.kept.stage = Stage::Idle;
        self.kept.releases.ask(reply);
        let name = self.spec.name.clone();
        self.spec.backend.do_send(Release { name, reason: Reason::Released });
    }

    /// A deliberate end. Whoever holds the lock is waited for, and hands it over by its drop.
    fn ending(&mut self, term: Term, reason: Reason) {
        self.ended(&term, reason);
        if !matches!(self.kept.stage, Stage::Held(held) if held == term.token()) {
            hand_over(term, &self.spec.backend);
        }
    }

    /// Its end, whatever ended it, is published once, by the news of it.
    fn ended(&mut self, term: &Term, reason: Reason) {
        let token = term.token();
        if self.kept.published.take_if(|published| *published == token).is_some() {
            debug!(name = %term.name(), %token, session = %term.session(), %reason, "lock ended");
            self.publish(|name| SimbaEvent::LockReleased { name, token, reason });
        }
    }

    fn lost(&mut self, token: Token, ctx: &mut Context<Self>) {
        if matches!(self.kept.stage, Stage::Held(held) if held == token) {
            self.kept.stage = Stage::Idle;
            self.contend(ctx);
        }
    }

    /// Another holds it: who has patience for one attempt has had it.
    fn refused(&mut self) {
        self.kept.last_error = None;
        if let Some(waiter) = self.one_attempt() {
            let _ = waiter.reply.send(Ok(None));
            self.stop_if_unwanted();
        }
    }

    fn failed(&mut self, error: BackendError) {
        if let Some(waiter) = self.one_attempt() {
            let name = self.spec.name.clone();
            let _ = waiter.reply.send(Err(LockError::Backend { name, source: error }));
            return self.stop_if_unwanted();
        }
        self.publish(|name| SimbaEvent::AttemptFailed { name, error: error.to_string() });
        self.kept.last_error = Some(error);
    }

    /// Takes the first of the queue if the attempt that was just answered was its only one.
    fn one_attempt(&mut self) -> Option<Waiter> {
        if self.kept.releases.on_their_way() {
            return None;
        }
        self.kept.queue.pop_front_if(|waiter| waiter.patience == Patience::OneAttempt)
    }

    fn give_up(&mut self, id: WaiterId, waited: Option<Duration>) {
        let Some(at) = self.kept.queue.iter().position(|waiter| waiter.id == id) else { return };
        let waiter = self.kept.queue.remove(at);
        if let (Some(waiter), Some(waited)) = (waiter, waited) {
            let (name, last) = (self.spec.name.clone(), self.kept.last_error.clone());
            let _ = waiter.reply.send(Err(LockError::Timeout { name, waited, last }));
        }
        self.stop_if_unwanted();
    }

    /// Contends no more when nobody is left to contend for. A grant under way is released (R5).
    fn stop_if_unwanted(&mut self) {
        if self.kept.queue.is_empty() && matches!(self.kept.stage, Stage::Contending) {
            self.release(None);
        }
    }

    fn close(&mut self) {
        self.kept.doors = Doors::Closed;
        for waiter in self.kept.queue.drain(..) {
            let _ = waiter.reply.send(Err(LockError::Closed));
        }
    }

    /// Says so when nothing is left to do; the parent knows whether more requests are on their way.
    fn say_if_idle(&self, ctx: &Context<Self>) {
        let Kept { queue, stage, releases, .. } = &self.kept;
        if queue.is_empty() && releases.is_empty() && matches!(stage, Stage::Idle) {
            let (name, lock) = (self.spec.name.clone(), ctx.address());
            self.spec.session.do_send(LockIdle { name, lock, handled: self.spec.handled.get() });
        }
    }

    /// The actor was built anew. News may have been lost with the earlier life: nobody waits for them.
    fn resume(&mut self, ctx: &mut Context<Self>) {
        confirm(self.kept.releases.drain());
        let (name, news) = (self.spec.name.clone(), ctx.address().recipient());
        self.spec.backend.do_send(Resume { name, news });
    }

    fn resumed(&mut self, runs: Option<Term>, ctx: &mut Context<Self>) {
        match (&self.kept.stage, runs) {
            (Stage::Held(held), None) => self.lost(*held, ctx),
            (Stage::Held(held), Some(runs)) if *held == runs.token() => {}
            (Stage::Contending, Some(runs)) if runs.is_valid() => self.started(runs, ctx),
            // Of an earlier wish.
            (Stage::Held(_) | Stage::Contending | Stage::Idle, Some(runs)) => {
                hand_over(runs, &self.spec.backend);
            }
            (Stage::Contending | Stage::Idle, None) => {}
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
            self.resume(ctx);
        }
    }
}

impl Drop for LockActor {
    fn drop(&mut self) {
        self.spec.kept.set(std::mem::take(&mut self.kept));
    }
}

fn confirm(waiting: Vec<oneshot::Sender<()>>) {
    for reply in waiting {
        // Who waited may be gone; the lock is free.
        let _ = reply.send(());
    }
}

impl Handler<LockRequest> for LockActor {
    type Result = ();
    fn handle(&mut self, request: LockRequest, ctx: &mut Context<Self>) {
        self.spec.handled.set(self.spec.handled.get() + 1);
        self.enqueue(request, ctx);
        self.say_if_idle(ctx);
    }
}

impl Handler<GiveUp> for LockActor {
    type Result = ();
    fn handle(&mut self, GiveUp { name: _, id, waited }: GiveUp, ctx: &mut Context<Self>) {
        self.give_up(id, waited);
        self.say_if_idle(ctx);
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
        let mut released = Vec::new();
        match news {
            LeaseNews::Started(term) => self.started(term, ctx),
            LeaseNews::Ending(term, reason) => self.ending(term, reason),
            LeaseNews::Ended(term, reason) => {
                self.ended(&term, reason);
                self.lost(term.token(), ctx);
            }
            LeaseNews::Overdue(term) => self.lost(term.token(), ctx),
            LeaseNews::Refused => self.refused(),
            LeaseNews::Failed(error) => self.failed(error),
            LeaseNews::Heard => self.kept.releases.heard(),
            LeaseNews::Settled => released = self.kept.releases.settled(),
            LeaseNews::Resumed(term) => self.resumed(term, ctx),
        }
        self.say_if_idle(ctx);
        // Last: the name is free for who hears of it.
        confirm(released);
    }
}

impl Handler<SimbaClosed> for LockActor {
    type Result = ();
    fn handle(&mut self, closed: SimbaClosed, _: &mut Context<Self>) {
        self.close();
        match closed {
            SimbaClosed::Begun => self.stop_if_unwanted(),
            SimbaClosed::Over => confirm(self.kept.releases.drain()),
        }
    }
}
