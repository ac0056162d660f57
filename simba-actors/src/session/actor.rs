//! The parent of elections and locks: starts them, keeps one use to a name, closes them all.
//! Parent: Simba's thread. Children: one `ElectionActor` for each election, one `LockActor` for each lock
//! that is held or waited for.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    time::Duration,
};

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, MailboxError, WrapFuture};
use futures_util::future::{LocalBoxFuture, join_all};
use simba_backends::LeaseName;
use tokio::{sync::oneshot, time::timeout};
use tracing::error;

use super::{
    CloseSession, ClosedReport, ElectionEnded, LockIdle, SessionNews, SimbaClosed, StartElection, StartError,
    Use,
};
use crate::{
    SimbaEvent,
    backend::{BackendActor, Close, Forget, Report},
    election::{ElectionActor, LeaderGone, Spec, Started},
    event::EventBus,
    lock::{GiveUp, LockActor, LockError, LockRequest, LockSpec},
    supervise::supervise_with,
};

/// How long the children may take to tell their users that Simba is closed.
const FAREWELL: Duration = Duration::from_secs(1);

/// What outlives a panic of the actor.
#[derive(Default)]
pub(crate) struct Children {
    elections: BTreeMap<LeaseName, Election>,
    locks: BTreeMap<LeaseName, Lock>,
    state: State,
    /// Told when everything is over, so that the thread can end.
    over: Option<oneshot::Sender<()>>,
}

/// An election, and what can be seen of its leader without asking it.
struct Election {
    addr: Addr<ElectionActor>,
    spec: Rc<Spec>,
}

/// A lock, and how many requests were passed on to it: it is idle when it has handled them all.
struct Lock {
    addr: Addr<LockActor>,
    requests: u64,
}

#[derive(Default)]
enum State {
    #[default]
    Open,
    Closing(Vec<oneshot::Sender<ClosedReport>>),
    Closed(ClosedReport),
}

impl Children {
    /// None yet; `over` is told when there will be no more.
    pub(crate) fn new(over: oneshot::Sender<()>) -> Self {
        Self { over: Some(over), ..Self::default() }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    fn used_by(&self, name: &LeaseName) -> Option<Use> {
        if self.elections.contains_key(name) {
            return Some(Use::Election);
        }
        self.locks.contains_key(name).then_some(Use::Lock)
    }
}

#[derive(Clone)]
pub(crate) struct SessionActor {
    pub(crate) backend: Addr<BackendActor>,
    pub(crate) events: EventBus,
    pub(crate) lease: Duration,
    pub(crate) renew: Duration,
    pub(crate) children: Rc<RefCell<Children>>,
}

impl SessionActor {
    fn start_election(&self, start: StartElection, session: Addr<Self>) {
        let StartElection { name, leader, roll, reply, permit } = start;
        drop(permit);
        let mut children = self.children.borrow_mut();
        if !children.is_open() {
            // Who asked may be gone, here and below: then there is nobody to tell.
            let _ = reply.send(Err(StartError::Closed));
            return;
        }
        if let Some(by) = children.used_by(&name) {
            let _ = reply.send(Err(StartError::InUse { name, by }));
            return;
        }
        let spec = Rc::new(Spec {
            name: name.clone(),
            leader,
            roll,
            backend: self.backend.clone(),
            session,
            events: self.events.clone(),
            lease: self.lease,
            renew: self.renew,
            lives: Cell::new(0),
            kept: Cell::default(),
        });
        let lives_on = spec.clone();
        let addr = supervise_with(
            move || ElectionActor::new(lives_on.clone()),
            self.events.restarts(format!("ElectionActor {name}")),
        );
        children.elections.insert(name, Election { addr: addr.clone(), spec });
        // If nobody takes it, it stops itself.
        let _ = reply.send(Ok(Started::new(addr)));
    }

    fn request_lock(&self, request: LockRequest, session: Addr<Self>) {
        let mut children = self.children.borrow_mut();
        if !children.is_open() {
            return request.refuse(LockError::Closed);
        }
        if children.elections.contains_key(&request.name) {
            let name = request.name.clone();
            return request.refuse(LockError::InUse { name, by: Use::Election });
        }
        let lock = children.locks.entry(request.name.clone()).or_insert_with(|| {
            let spec = Rc::new(LockSpec {
                name: request.name.clone(),
                backend: self.backend.clone(),
                session,
                events: self.events.clone(),
                handled: Cell::new(0),
                lives: Cell::new(0),
                kept: Cell::default(),
            });
            let restarts = self.events.restarts(format!("LockActor {}", request.name));
            Lock { addr: supervise_with(move || LockActor::new(spec.clone()), restarts), requests: 0 }
        });
        lock.requests += 1;
        lock.addr.do_send(request);
    }

    fn close(&self, reply: Option<oneshot::Sender<ClosedReport>>) {
        let mut children = self.children.borrow_mut();
        match &mut children.state {
            State::Open => {
                children.state = State::Closing(reply.into_iter().collect());
                for lock in children.locks.values() {
                    lock.addr.do_send(SimbaClosed::Begun);
                }
                self.backend.do_send(Close);
            }
            State::Closing(replies) => replies.extend(reply),
            State::Closed(report) => {
                // Who closes again may have stopped waiting.
                let _ = reply.map(|reply| reply.send(report.clone()));
            }
        }
    }

    /// Nothing announces that a user's actor is gone (R16), so somebody has to look, until all is closed: from
    /// here, because ten thousand questions would be ten thousand actors awake.
    fn look_at_leaders(&self, ctx: &mut Context<Self>) {
        if let State::Closed(_) = self.children.borrow().state {
            return;
        }
        for election in self.children.borrow().elections.values() {
            if election.spec.leader.is_gone() {
                election.addr.do_send(LeaderGone);
            }
        }
        let pace = (self.renew / 4).clamp(Duration::from_millis(50), Duration::from_secs(1));
        ctx.run_later(pace, |actor, ctx| actor.look_at_leaders(ctx));
    }

    /// Every child first tells its users, then whoever closed is told, then the thread may end.
    fn closed(&self, report: ClosedReport, ctx: &mut Context<Self>) {
        let farewell = join_all(self.farewells());
        let told = async move { timeout(FAREWELL, farewell).await.map(|_| ()) };
        ctx.spawn(told.into_actor(self).map(|told, actor, _| {
            if told.is_err() {
                error!("a child did not answer that simba is closed");
            }
            actor.over(report);
        }));
    }

    fn farewells(&self) -> Vec<LocalBoxFuture<'static, Result<(), MailboxError>>> {
        let children = self.children.borrow();
        let elections = children.elections.values().map(|election| &election.addr);
        let elections = elections.map(|addr| Box::pin(addr.send(SimbaClosed::Over)) as _);
        let locks = children.locks.values().map(|lock| Box::pin(lock.addr.send(SimbaClosed::Over)) as _);
        elections.chain(locks).collect()
    }

    fn over(&self, report: ClosedReport) {
        let mut children = self.children.borrow_mut();
        children.elections.clear();
        children.locks.clear();
        let before = std::mem::replace(&mut children.state, State::Closed(report.clone()));
        self.events.publish(SimbaEvent::Closed);
        if let State::Closing(replies) = before {
            for reply in replies {
                // A dropped close goes on without its caller.
                let _ = reply.send(report.clone());
            }
        }
        if let Some(over) = children.over.take() {
            // The receiver is Simba's thread, which waits for this.
            let _ = over.send(());
        }
    }
}

impl Actor for SessionActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.backend.do_send(Report { to: ctx.address().recipient() });
        self.look_at_leaders(ctx);
    }
}

impl Handler<StartElection> for SessionActor {
    type Result = ();
    fn handle(&mut self, start: StartElection, ctx: &mut Context<Self>) {
        self.start_election(start, ctx.address());
    }
}

impl Handler<LockRequest> for SessionActor {
    type Result = ();
    fn handle(&mut self, request: LockRequest, ctx: &mut Context<Self>) {
        self.request_lock(request, ctx.address());
    }
}

impl Handler<GiveUp> for SessionActor {
    type Result = ();
    fn handle(&mut self, give_up: GiveUp, _: &mut Context<Self>) {
        if let Some(lock) = self.children.borrow().locks.get(&give_up.name) {
            lock.addr.do_send(give_up);
        }
    }
}

impl Handler<ElectionEnded> for SessionActor {
    type Result = ();
    fn handle(&mut self, ElectionEnded { name }: ElectionEnded, _: &mut Context<Self>) {
        self.children.borrow_mut().elections.remove(&name);
        self.backend.do_send(Forget { name });
    }
}

impl Handler<LockIdle> for SessionActor {
    type Result = ();
    fn handle(&mut self, LockIdle { name, lock, handled }: LockIdle, _: &mut Context<Self>) {
        let mut children = self.children.borrow_mut();
        if children.locks.get(&name).is_some_and(|known| known.addr == lock && known.requests == handled) {
            children.locks.remove(&name);
            self.backend.do_send(Forget { name });
        }
    }
}

impl Handler<CloseSession> for SessionActor {
    type Result = ();
    fn handle(&mut self, CloseSession { reply }: CloseSession, _: &mut Context<Self>) {
        self.close(reply);
    }
}

impl Handler<SessionNews> for SessionActor {
    type Result = ();
    fn handle(&mut self, news: SessionNews, ctx: &mut Context<Self>) {
        let report = match news {
            SessionNews::Closed { unfreed, free_in } => ClosedReport { unfreed, free_in },
            SessionNews::Died => ClosedReport::default(),
        };
        self.closed(report, ctx);
    }
}

#[cfg(test)]
mod tests;
