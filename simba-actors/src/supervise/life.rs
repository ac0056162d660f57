//! One life of a supervised actor.

use std::{
    any::{Any, type_name},
    cell::{Cell, RefCell},
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    rc::Rc,
    task::{Context as Task, Poll},
};

use actix::{
    Actor, AsyncContext, Context,
    dev::{AsyncContextParts, ContextFut},
};
use tracing::error;

use super::inbox::{Inbox, Pump};

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    Stopped,
    Panicked,
}

/// An actor value with its context, from `started` to a stop or a panic.
pub(super) struct Life<A: Actor<Context = Context<A>>> {
    inbox: Rc<RefCell<Inbox<A>>>,
    pumping: Rc<Cell<bool>>,
    /// `None` after the end.
    body: Option<ContextFut<A, Context<A>>>,
}

impl<A: Actor<Context = Context<A>>> Life<A> {
    pub(super) fn begin(
        inbox: &Rc<RefCell<Inbox<A>>>,
        factory: &mut impl FnMut() -> A,
    ) -> Result<Self, Death> {
        let actor = guarded::<A, _>(factory)?;
        let body = inbox.borrow().context().into_future(actor);
        let mut life = Self { inbox: inbox.clone(), pumping: Rc::default(), body: Some(body) };
        life.pump();
        Ok(life)
    }

    fn pump(&mut self) {
        if let Some(body) = &mut self.body {
            body.ctx().spawn(Pump::new(self.inbox.clone(), self.pumping.clone()));
        }
    }

    fn end(&mut self, death: Death) -> Death {
        if let Some(mut body) = self.body.take() {
            if death == Death::Panicked {
                // Otherwise dropping the context polls the actor: a handler may have left it half changed.
                body.ctx().parts().terminate();
            }
            // The death is already known; one more panic changes nothing.
            let _ = guarded::<A, _>(|| drop(body));
        }
        death
    }
}

impl<A: Actor<Context = Context<A>>> Future for Life<A> {
    type Output = Death;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Death> {
        loop {
            let Some(body) = &mut self.body else { return Poll::Ready(Death::Stopped) };
            match guarded::<A, _>(|| Pin::new(body).poll(cx)) {
                Err(death) => return Poll::Ready(self.end(death)),
                Ok(Poll::Ready(())) => return Poll::Ready(self.end(Death::Stopped)),
                Ok(Poll::Pending) => {}
            }
            // The last address was gone, other work goes on, and it has made a new address.
            if self.pumping.get() || self.inbox.borrow_mut().is_over(cx) {
                return Poll::Pending;
            }
            self.pump();
        }
    }
}

impl<A: Actor<Context = Context<A>>> Drop for Life<A> {
    fn drop(&mut self) {
        self.end(Death::Stopped);
    }
}

/// Runs the actor's code; its panic ends its life and nothing else.
fn guarded<A, T>(code: impl FnOnce() -> T) -> Result<T, Death> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        error!(actor = type_name::<A>(), panic = message(&*panic), "actor panicked");
        Death::Panicked
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("not a text")
}
