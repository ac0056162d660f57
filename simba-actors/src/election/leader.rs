//! Who leads: the leader actor, the work of a job, and the actors that only listen.

use std::{
    cell::RefCell,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use actix::{Actor, Addr, Handler, Message, Recipient, WeakRecipient, dev::ToEnvelope};
use tokio::sync::mpsc;

use crate::{Reason, Term};

/// This process leads from now on.
///
/// The handler may take its time: a deliberate end waits with [`Revoked`] until it has resolved, and a
/// forced one does not. Pass the term on to whatever works for it.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Elected(pub Term);

/// That term has ended, for that reason. Comes exactly once for each [`Elected`].
///
/// The leader actor's handler may take [`Term::hand_over_remaining`] to finish: until it has resolved
/// nobody else is elected. That is zero where the end was not deliberate.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct Revoked(pub Term, pub Reason);

/// Any actor that handles [`Elected`] and [`Revoked`]; there is nothing else to implement.
///
/// # Examples
///
/// ```
/// use actix::prelude::*;
/// use simba_actors::{Elected, LeaderActor, Revoked};
///
/// struct Dispatcher;
///
/// impl Actor for Dispatcher {
///     type Context = Context<Self>;
/// }
///
/// impl Handler<Elected> for Dispatcher {
///     type Result = ();
///     fn handle(&mut self, Elected(term): Elected, _: &mut Context<Self>) {
///         println!("dispatching with token {}", term.token());
///     }
/// }
///
/// impl Handler<Revoked> for Dispatcher {
///     type Result = ();
///     fn handle(&mut self, Revoked(_, reason): Revoked, _: &mut Context<Self>) {
///         println!("no longer dispatching: {reason}");
///     }
/// }
///
/// fn is_leader_actor<A: LeaderActor>() {}
/// is_leader_actor::<Dispatcher>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot lead: it does not handle both `Elected` and `Revoked`",
    note = "write `impl Handler<Elected> for {Self}` and `impl Handler<Revoked> for {Self}`"
)]
pub trait LeaderActor:
    Actor<Context: ToEnvelope<Self, Elected> + ToEnvelope<Self, Revoked>> + Handler<Elected> + Handler<Revoked>
{
}

impl<A> LeaderActor for A where
    A: Actor<Context: ToEnvelope<A, Elected> + ToEnvelope<A, Revoked>> + Handler<Elected> + Handler<Revoked>
{
}

/// An actor's two mailbox slots.
///
/// Weak, so that an election keeps nobody alive; and upgraded for each message, because a sender that was
/// once parked on a full mailbox stays refused.
#[derive(Clone)]
pub(crate) struct Listener {
    elected: WeakRecipient<Elected>,
    revoked: WeakRecipient<Revoked>,
}

impl Listener {
    pub(crate) fn new<A: LeaderActor>(addr: &Addr<A>) -> Self {
        Self {
            elected: addr.clone().recipient::<Elected>().downgrade(),
            revoked: addr.clone().recipient::<Revoked>().downgrade(),
        }
    }

    pub(super) fn elected(&self) -> Option<Recipient<Elected>> {
        self.elected.upgrade().filter(Recipient::connected)
    }

    pub(super) fn revoked(&self) -> Option<Recipient<Revoked>> {
        self.revoked.upgrade().filter(Recipient::connected)
    }

    fn is_gone(&self) -> bool {
        self.revoked().is_none()
    }
}

/// Whom an election works for.
pub(crate) enum Leader {
    Actor(Listener),
    /// The loop of a job, which takes one term after the other until the channel is closed.
    Work(RefCell<Option<mpsc::UnboundedSender<Term>>>),
}

impl Leader {
    pub(super) fn is_gone(&self) -> bool {
        match self {
            Self::Actor(listener) => listener.is_gone(),
            Self::Work(terms) => terms.borrow().as_ref().is_none_or(mpsc::UnboundedSender::is_closed),
        }
    }

    /// There will be no further term: the loop of a job ends.
    pub(super) fn end(&self) {
        match self {
            Self::Actor(_) => {}
            Self::Work(terms) => drop(terms.take()),
        }
    }
}

/// The term that runs, and the actors that listen. Users read and extend it from their own threads, so
/// that no flood of these calls reaches Simba's; the lock is held for a few sends at most.
#[derive(Clone, Default)]
pub(crate) struct Roll(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    term: Option<Term>,
    listeners: Vec<Listener>,
}

impl Roll {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn term(&self) -> Option<Term> {
        self.state().term.clone()
    }

    pub(super) fn add<A: LeaderActor>(&self, addr: &Addr<A>) {
        let mut state = self.state();
        let listener = Listener::new(addr);
        if let Some(term) = &state.term
            && let Some(elected) = listener.elected()
        {
            elected.do_send(Elected(term.clone()));
        }
        state.listeners.push(listener);
    }

    pub(super) fn elected(&self, term: &Term) {
        let mut state = self.state();
        state.term = Some(term.clone());
        state.listeners.retain(|listener| {
            listener.elected().map(|elected| elected.do_send(Elected(term.clone()))).is_some()
        });
    }

    pub(super) fn revoked(&self, term: &Term, reason: Reason) {
        let mut state = self.state();
        state.term = None;
        state.listeners.retain(|listener| {
            listener.revoked().map(|revoked| revoked.do_send(Revoked(term.clone(), reason))).is_some()
        });
    }
}
