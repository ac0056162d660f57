//! One election: delivers `Elected` and `Revoked`, and says when a term is handed over.
//! Parent: `SessionActor`. Children: none. Restarted after a panic, it finds its term in the engine, and what
//! it has told about it where its earlier life left it.

use std::{cell::Cell, rc::Rc, time::Duration};

use actix::{Actor, ActorFutureExt, Addr, AsyncContext, Context, Handler, MailboxError, Message, WrapFuture};
use simba_backends::{LeaseName, Token};
use tracing::{info, warn};

use super::{
    course::{Course, End, Kept, Leading, Request, State},
    heard::Heard,
    leader::{Elected, Leader, Revoked, Roll},
    messages::{LeaderGone, StepDown, Stop, WorkEnd, WorkEnded},
};
use crate::{
    Reason, SimbaEvent, Term,
    backend::{Acquire, BackendActor, LeaseNews, Release, Resume, StandDown, hand_over},
    engine::Goal,
    event::EventBus,
    session::{ElectionEnded, SessionActor, SimbaClosed},
};

/// What every life of the actor works with.
pub(crate) struct Spec {
    pub(crate) name: LeaseName,
    pub(crate) leader: Leader,
    pub(crate) roll: Roll,
    pub(crate) backend: Addr<BackendActor>,
    pub(crate) session: Addr<SessionActor>,
    pub(crate) events: EventBus,
    pub(crate) lease: Duration,
    pub(crate) renew: Duration,
    /// How often the actor was built.
    pub(crate) lives: Cell<u32>,
    /// Left by one life for the next.
    pub(crate) kept: Cell<Kept>,
}

pub(crate) struct ElectionActor {
    spec: Rc<Spec>,
    kept: Kept,
}

impl ElectionActor {
    pub(crate) fn new(spec: Rc<Spec>) -> Self {
        let kept = spec.kept.take();
        Self { spec, kept }
    }

    fn elected(&mut self, term: Term, ctx: &mut Context<Self>) {
        if self.kept.requests.on_their_way() {
            // Won before the engine heard of a stop or step-down: it ends when it does (R5).
            return;
        }
        info!(name = %term.name(), token = %term.token(), session = %term.session(), "elected");
        self.publish(|name| SimbaEvent::Elected { name, token: term.token() });
        self.spec.roll.elected(&term);
        self.kept.course = Some(Course::new(term.clone()));
        let sent = match &self.spec.leader {
            Leader::Work(terms) => terms.borrow().as_ref().is_some_and(|terms| terms.send(term).is_ok()),
            Leader::Actor(listener) => match listener.elected() {
                None => false,
                Some(elected) => {
                    let token = term.token();
                    self.follow(elected.send(Elected(term)), ctx, move |actor, answer, ctx| {
                        actor.elected_answered(token, answer, ctx);
                    });
                    true
                }
            },
        };
        if !sent {
            self.leader_gone();
        }
    }

    fn course_of(&mut self, token: Token) -> Option<&mut Course> {
        self.kept.course.as_mut().filter(|course| course.term.token() == token)
    }

    fn elected_answered(&mut self, token: Token, answer: Result<(), MailboxError>, ctx: &mut Context<Self>) {
        let Some(course) = self.course_of(token) else { return };
        course.leading = Leading::Free;
        if answer.is_err() && course.end == End::Ahead {
            self.handler_failed();
        }
        self.proceed(ctx);
    }

    /// A deliberate end: listeners hear it now, the leader when it is free (R3).
    fn ending(&mut self, term: &Term, reason: Reason, ctx: &mut Context<Self>) {
        let gone = self.spec.leader.is_gone();
        let Some(course) = self.course_of(term.token()) else {
            // Nobody was told of it.
            return self.hand_over(term.clone());
        };
        if course.end != End::Ahead {
            return;
        }
        course.end = End::Begun(reason);
        if gone {
            course.leading = Leading::Free;
        }
        self.ended_for_listeners(term, reason);
        self.proceed(ctx);
    }

    /// Goes on with a deliberate end as soon as the leader is free.
    fn proceed(&mut self, ctx: &mut Context<Self>) {
        let Some(course) = &mut self.kept.course else { return };
        let End::Begun(reason) = course.end else { return };
        if course.leading == Leading::Busy {
            return;
        }
        course.end = End::Revoked;
        let term = course.term.clone();
        if !self.send_revoked(term.clone(), reason, ctx) {
            self.hand_over(term);
        }
    }

    /// Sends `Revoked` to a leader actor; `false` if there is none to wait for.
    fn send_revoked(&mut self, term: Term, reason: Reason, ctx: &mut Context<Self>) -> bool {
        let Leader::Actor(listener) = &self.spec.leader else { return false };
        let Some(revoked) = listener.revoked() else { return false };
        let revoked = revoked.send(Revoked(term.clone(), reason));
        self.follow(revoked, ctx, move |actor, answer, _| {
            if answer.is_err() && actor.kept.state == State::Contending {
                actor.handler_failed();
            }
            actor.hand_over(term);
        });
        true
    }

    fn hand_over(&mut self, term: Term) {
        self.kept.course.take_if(|course| course.term.token() == term.token());
        hand_over(term, &self.spec.backend);
    }

    /// A forced end, also of a hand-over: who has not heard of the end hears it at once.
    fn ended(&mut self, term: &Term, reason: Reason, ctx: &mut Context<Self>) {
        let Some(course) = self.kept.course.take_if(|course| course.term.token() == term.token()) else {
            return;
        };
        match course.end {
            End::Ahead => {
                self.ended_for_listeners(term, reason);
                self.send_revoked(course.term, reason, ctx);
            }
            End::Begun(reason) => drop(self.send_revoked(course.term, reason, ctx)),
            End::Revoked => {}
        }
    }

    /// The hand-over is over, whatever the leader still does.
    fn overdue(&mut self, term: &Term, ctx: &mut Context<Self>) {
        warn!(name = %term.name(), token = %term.token(), "hand-over not finished in time");
        self.ended(term, Reason::Deadline, ctx);
    }

    fn ended_for_listeners(&self, term: &Term, reason: Reason) {
        info!(name = %term.name(), token = %term.token(), session = %term.session(), %reason, "revoked");
        self.publish(|name| SimbaEvent::Revoked { name, token: term.token(), reason });
        self.spec.roll.revoked(term, reason);
    }

    /// Waits for a handler in the background.
    fn follow<M: Message<Result = ()> + Send + 'static>(
        &self,
        request: actix::dev::RecipientRequest<M>,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, Result<(), MailboxError>, &mut Context<Self>) + 'static,
    ) {
        ctx.spawn(Heard::new(request).into_actor(self).map(|answer, actor, ctx| then(actor, answer, ctx)));
    }

    /// A handler or the work panicked: its term is revoked and released, and others get their chance for
    /// one lease (R16).
    fn handler_failed(&mut self) {
        warn!(name = %self.spec.name, "the leader failed; the election stays out for one lease");
        self.stand_down(Reason::HandlerFailed, self.spec.lease, None);
    }

    fn stand_down(&mut self, reason: Reason, stay_out: Duration, request: Option<Request>) {
        self.kept.requests.ask(request);
        self.spec.backend.do_send(StandDown { name: self.spec.name.clone(), reason, stay_out });
    }

    fn leader_gone(&mut self) {
        warn!(name = %self.spec.name, "the leader is gone; the election ends");
        self.stop(Reason::HandlerGone);
    }

    fn stop(&mut self, reason: Reason) {
        if self.kept.state == State::Contending {
            self.kept.state = State::Stopping;
            self.withdraw(reason);
        }
    }

    fn withdraw(&mut self, reason: Reason) {
        self.kept.requests.ask(Some(Request::Stop));
        self.spec.backend.do_send(Release { name: self.spec.name.clone(), reason });
    }

    /// Nothing is held and nothing on its way.
    fn settled(&mut self) {
        for request in self.kept.requests.settled() {
            match request {
                // Who waited may be gone; the step-down took place.
                Request::StepDown(reply) => drop(reply.send(Ok(()))),
                Request::Stop => {
                    // Before anybody is told: the name is free for who hears of it.
                    self.spec.session.do_send(ElectionEnded { name: self.spec.name.clone() });
                    self.over();
                }
            }
        }
    }

    fn over(&mut self) {
        self.kept.state = State::Ended;
        self.spec.leader.end();
        for reply in self.kept.stops.drain(..) {
            // Who waited may be gone; the election has ended.
            let _ = reply.send(());
        }
        for request in self.kept.requests.drain() {
            match request {
                Request::Stop => {}
                Request::StepDown(reply) => drop(reply.send(Err(()))),
            }
        }
    }

    /// The actor was built anew. Which handlers have resolved is no longer known: none is waited for. Work
    /// says by itself when it has ended.
    fn resume(&mut self, ctx: &mut Context<Self>) {
        if let (Leader::Actor(_), Some(course)) = (&self.spec.leader, &mut self.kept.course) {
            course.leading = Leading::Free;
            match course.end {
                End::Ahead => {}
                End::Begun(_) => self.proceed(ctx),
                End::Revoked => {
                    let term = course.term.clone();
                    self.hand_over(term);
                }
            }
        }
        if self.kept.state == State::Stopping {
            self.withdraw(Reason::Stopped);
        }
        let (name, news) = (self.spec.name.clone(), ctx.address().recipient());
        self.spec.backend.do_send(Resume { name, news });
    }

    /// What the engine knows, should news have been lost with the earlier life.
    fn resumed(&mut self, runs: Option<Term>, ctx: &mut Context<Self>) {
        let told = self.kept.course.as_ref().map(|course| course.term.clone());
        if let Some(told) = told.filter(|told| runs.as_ref().is_none_or(|runs| runs.token() != told.token()))
        {
            self.ended(&told, told.reason().unwrap_or(Reason::LeaseLost), ctx);
        }
        let Some(term) = runs else { return };
        match term.reason() {
            Some(reason) => self.ending(&term, reason, ctx),
            None if self.kept.course.is_none() => self.elected(term, ctx),
            None => {}
        }
    }

    fn publish(&self, event: impl FnOnce(LeaseName) -> SimbaEvent) {
        self.spec.events.publish(event(self.spec.name.clone()));
    }
}

impl Actor for ElectionActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if self.spec.lives.replace(self.spec.lives.get() + 1) > 0 {
            return self.resume(ctx);
        }
        let (name, news) = (self.spec.name.clone(), ctx.address().recipient());
        self.spec.backend.do_send(Acquire { name, goal: Goal::Terms, news });
    }
}

impl Drop for ElectionActor {
    fn drop(&mut self) {
        self.spec.kept.set(std::mem::take(&mut self.kept));
    }
}

impl Handler<LeaseNews> for ElectionActor {
    type Result = ();
    fn handle(&mut self, news: LeaseNews, ctx: &mut Context<Self>) {
        match news {
            LeaseNews::Started(term) => self.elected(term, ctx),
            LeaseNews::Ending(term, reason) => self.ending(&term, reason, ctx),
            LeaseNews::Ended(term, reason) => self.ended(&term, reason, ctx),
            LeaseNews::Overdue(term) => self.overdue(&term, ctx),
            LeaseNews::Refused => {}
            LeaseNews::Failed(error) => {
                self.publish(|name| SimbaEvent::AttemptFailed { name, error: error.to_string() });
            }
            LeaseNews::Heard => self.kept.requests.heard(),
            LeaseNews::Settled => self.settled(),
            LeaseNews::Resumed(term) => self.resumed(term, ctx),
        }
    }
}

impl Handler<Stop> for ElectionActor {
    type Result = ();
    fn handle(&mut self, Stop { reply, permit }: Stop, _: &mut Context<Self>) {
        drop(permit);
        if self.kept.state == State::Ended {
            // Who waits hears of it, if it still does.
            let _ = reply.map(|reply| reply.send(()));
            return;
        }
        self.kept.stops.extend(reply);
        self.stop(Reason::Stopped);
    }
}

impl Handler<StepDown> for ElectionActor {
    type Result = ();
    fn handle(&mut self, StepDown { stay_out, reply, permit }: StepDown, _: &mut Context<Self>) {
        drop(permit);
        if self.kept.state == State::Contending {
            self.stand_down(Reason::SteppedDown, stay_out, Some(Request::StepDown(reply)));
        } else {
            // Who waits hears of it, if it still does.
            let _ = reply.send(Err(()));
        }
    }
}

impl Handler<LeaderGone> for ElectionActor {
    type Result = ();
    fn handle(&mut self, LeaderGone: LeaderGone, ctx: &mut Context<Self>) {
        if self.kept.state == State::Contending {
            self.leader_gone();
        }
        // Nobody is left whose handler could resolve.
        if let Some(course) = &mut self.kept.course {
            course.leading = Leading::Free;
            self.proceed(ctx);
        }
    }
}

impl Handler<WorkEnded> for ElectionActor {
    type Result = ();
    fn handle(&mut self, WorkEnded { token, how }: WorkEnded, ctx: &mut Context<Self>) {
        let Some(course) = self.course_of(token) else { return };
        course.leading = Leading::Free;
        match (course.end, how) {
            (End::Begun(_) | End::Revoked, _) | (End::Ahead, WorkEnd::Dropped) => {}
            (End::Ahead, WorkEnd::Returned) => {
                self.stand_down(Reason::SteppedDown, self.spec.renew / 2, None);
            }
            (End::Ahead, WorkEnd::Finished) => self.stop(Reason::Stopped),
            (End::Ahead, WorkEnd::Panicked) => self.handler_failed(),
        }
        self.proceed(ctx);
    }
}

impl Handler<SimbaClosed> for ElectionActor {
    type Result = ();
    fn handle(&mut self, closed: SimbaClosed, _: &mut Context<Self>) {
        match closed {
            SimbaClosed::Begun => {}
            SimbaClosed::Over => self.over(),
        }
    }
}
