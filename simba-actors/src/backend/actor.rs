//! One storage in use, as an actor: turns messages into engine inputs, and what the keeper tells into
//! messages for the child of that name. Parent: Simba's thread. Children: none.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, sync::Arc, time::Duration};

use actix::{Actor, Context, Handler, Recipient};
use simba_backends::{BackendError, LeaseBackend, LeaseName, SessionId};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{
    Acquire, Close, Forget, HandOver, Inspect, LeaseNews, Release, Report, Resume, StandDown, Told, guarded,
};
use crate::{
    SimbaEvent,
    engine::{Input, Notice, Reason},
    event::EventBus,
    session::SessionNews,
    term::Term,
};

/// What outlives a panic of the actor: who hears about which name, and the terms that run.
#[derive(Default)]
pub(crate) struct Board {
    routes: BTreeMap<LeaseName, Recipient<LeaseNews>>,
    terms: BTreeMap<LeaseName, Term>,
    session: Option<Recipient<SessionNews>>,
    /// Nothing new is asked of the storage.
    closed: bool,
    /// Resolved by the first session, or by the error that prevented it.
    ready: Option<oneshot::Sender<Result<SessionId, BackendError>>>,
}

impl Board {
    /// Nobody listens yet; `ready` hears how the first session went.
    pub(crate) fn new(ready: oneshot::Sender<Result<SessionId, BackendError>>) -> Self {
        Self { ready: Some(ready), ..Self::default() }
    }
}

#[derive(Clone)]
pub(crate) struct BackendActor {
    pub(crate) backend: Arc<dyn LeaseBackend>,
    pub(crate) call_timeout: Duration,
    /// To the keeper. Never waits; what comes in is bounded where users call.
    pub(crate) inputs: mpsc::UnboundedSender<Input>,
    pub(crate) events: EventBus,
    pub(crate) board: Rc<RefCell<Board>>,
}

impl BackendActor {
    fn input(&self, input: Input) {
        // Without a keeper everything has ended already, and has been told so.
        let _ = self.inputs.send(input);
    }

    fn route(&self, name: &LeaseName, news: LeaseNews) {
        let route = self.board.borrow().routes.get(name).cloned();
        if let Some(route) = route {
            route.do_send(news);
        }
    }

    fn remember(&self, term: &Term) {
        self.board.borrow_mut().terms.insert(term.name().clone(), term.clone());
    }

    fn forget(&self, term: &Term) {
        let mut board = self.board.borrow_mut();
        if board.terms.get(term.name()).is_some_and(|known| known.token() == term.token()) {
            board.terms.remove(term.name());
        }
    }

    fn noticed(&self, notice: Notice) {
        let first = match &notice {
            Notice::SessionOpened { session } => Some(Ok(session.clone())),
            Notice::OpenFailed { error, .. } => Some(Err(error.clone())),
            Notice::RenewFailed { .. }
            | Notice::Suspended { .. }
            | Notice::Resumed
            | Notice::SessionExpired { .. }
            | Notice::Released { .. }
            | Notice::TokenRegressed { .. }
            | Notice::ClockStep { .. } => None,
        };
        self.events.publish(event(notice));
        if let Some(first) = first
            && let Some(ready) = self.board.borrow_mut().ready.take()
        {
            // Who connects may have given up; it closes then.
            let _ = ready.send(first);
        }
    }

    /// Tells the last there is. Whoever is routed to has an address of this actor too: forgotten here,
    /// all of them end with the addresses that users have.
    fn tell_session_the_last(&self, news: SessionNews) {
        let mut board = self.board.borrow_mut();
        board.routes.clear();
        if let Some(session) = board.session.take() {
            session.do_send(news);
        }
    }

    /// R21: the keeper has ended every term by dying; here their users are told.
    fn died(&self) {
        self.board.borrow_mut().closed = true;
        let terms = std::mem::take(&mut self.board.borrow_mut().terms);
        for (name, term) in terms {
            let reason = term.reason().unwrap_or(Reason::Closed);
            self.route(&name, LeaseNews::Ended(term, reason));
        }
        self.tell_session_the_last(SessionNews::Died);
    }
}

fn event(notice: Notice) -> SimbaEvent {
    match notice {
        Notice::SessionOpened { session } => SimbaEvent::SessionOpened { session },
        Notice::OpenFailed { failures, error } => {
            SimbaEvent::OpenFailed { failures, error: error.to_string() }
        }
        Notice::RenewFailed { failures, error } => {
            SimbaEvent::RenewFailed { failures, error: error.to_string() }
        }
        Notice::Suspended { remaining } => SimbaEvent::Suspended { remaining },
        Notice::Resumed => SimbaEvent::Resumed,
        Notice::SessionExpired { session } => SimbaEvent::SessionExpired { session },
        Notice::Released { name, token } => SimbaEvent::Released { name, token },
        Notice::TokenRegressed { name, token, floor } => SimbaEvent::TokenRegressed { name, token, floor },
        Notice::ClockStep { local, server } => SimbaEvent::ClockStep { local, server },
    }
}

impl Actor for BackendActor {
    type Context = Context<Self>;
}

impl Handler<Told> for BackendActor {
    type Result = ();
    fn handle(&mut self, told: Told, _: &mut Context<Self>) {
        match told {
            Told::Started(term) => {
                self.remember(&term);
                self.route(&term.name().clone(), LeaseNews::Started(term));
            }
            Told::Ending(term, reason) => {
                self.route(&term.name().clone(), LeaseNews::Ending(term, reason));
            }
            Told::Ended(term, reason) => {
                self.forget(&term);
                self.route(&term.name().clone(), LeaseNews::Ended(term, reason));
            }
            Told::Overdue(term) => {
                self.forget(&term);
                self.route(&term.name().clone(), LeaseNews::Overdue(term));
            }
            Told::Refused { name } => self.route(&name, LeaseNews::Refused),
            Told::Failed { name, error } => self.route(&name, LeaseNews::Failed(error)),
            Told::Heard { name } => self.route(&name, LeaseNews::Heard),
            Told::Settled { name } => self.route(&name, LeaseNews::Settled),
            Told::Notice(notice) => self.noticed(notice),
            Told::Closed { unfreed, free_in } => {
                self.tell_session_the_last(SessionNews::Closed { unfreed, free_in });
            }
            Told::Died => self.died(),
        }
    }
}

impl Handler<Acquire> for BackendActor {
    type Result = ();
    fn handle(&mut self, Acquire { name, goal, news }: Acquire, _: &mut Context<Self>) {
        self.board.borrow_mut().routes.insert(name.clone(), news);
        self.input(Input::Contend { name, goal });
    }
}

impl Handler<Release> for BackendActor {
    type Result = ();
    fn handle(&mut self, Release { name, reason }: Release, _: &mut Context<Self>) {
        self.input(Input::Withdraw { name, reason });
    }
}

impl Handler<StandDown> for BackendActor {
    type Result = ();
    fn handle(&mut self, StandDown { name, reason, stay_out }: StandDown, _: &mut Context<Self>) {
        self.input(Input::StandDown { name, reason, stay_out });
    }
}

impl Handler<HandOver> for BackendActor {
    type Result = ();
    fn handle(&mut self, HandOver { name, token }: HandOver, _: &mut Context<Self>) {
        let mut board = self.board.borrow_mut();
        if board.terms.get(&name).is_some_and(|term| term.token() == token) {
            board.terms.remove(&name);
        }
        drop(board);
        self.input(Input::HandedOver { name, token });
    }
}

impl Handler<Resume> for BackendActor {
    type Result = ();
    fn handle(&mut self, Resume { name, news }: Resume, _: &mut Context<Self>) {
        let term = self.board.borrow().terms.get(&name).cloned();
        news.do_send(LeaseNews::Resumed(term));
        self.board.borrow_mut().routes.insert(name, news);
    }
}

impl Handler<Forget> for BackendActor {
    type Result = ();
    fn handle(&mut self, Forget { name }: Forget, _: &mut Context<Self>) {
        self.board.borrow_mut().routes.remove(&name);
    }
}

impl Handler<Report> for BackendActor {
    type Result = ();
    fn handle(&mut self, Report { to }: Report, _: &mut Context<Self>) {
        self.board.borrow_mut().session = Some(to);
    }
}

impl Handler<Close> for BackendActor {
    type Result = ();
    fn handle(&mut self, Close: Close, _: &mut Context<Self>) {
        self.board.borrow_mut().closed = true;
        self.input(Input::Close);
    }
}

impl Handler<Inspect> for BackendActor {
    type Result = ();
    fn handle(&mut self, Inspect { name, reply, permit }: Inspect, _: &mut Context<Self>) {
        if self.board.borrow().closed {
            // Who hears no answer knows that Simba is closed.
            return drop(reply);
        }
        let (backend, patience) = (self.backend.clone(), self.call_timeout);
        actix::spawn(async move {
            let answer = timeout(patience, guarded(backend.inspect(&name))).await;
            let answer = answer.unwrap_or_else(|_elapsed| {
                Err(BackendError::timeout(format!("the storage did not answer within {patience:?}")))
            });
            drop(permit);
            // Who asked may have stopped waiting.
            let _ = reply.send(answer);
        });
    }
}
