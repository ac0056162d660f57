//! The mailbox that outlives the actor's lives.

use std::{
    cell::{Cell, RefCell},
    pin::Pin,
    rc::Rc,
    task::{self, Poll},
};

use actix::{
    Actor, ActorFuture, Addr, AsyncContext, Context,
    dev::{
        AsyncContextParts, ContextParts, Envelope, EnvelopeProxy,
        channel::{AddressReceiver, channel},
    },
};

/// What actix gives a mailbox.
const CAPACITY: usize = 16;

/// How many messages are handled before the other tasks of the thread get their turn. actix's own mailbox
/// goes on for as long as it is not empty, and starves the thread.
const TURN: usize = 64;

/// The receiving end of an actor's addresses.
///
/// An actix context owns its mailbox and takes it to the grave. Here it belongs to the supervisor; each
/// life gets a context whose `address()` is this one, and a [`Pump`] that brings it the messages.
pub(super) struct Inbox<A: Actor<Context = Context<A>>> {
    receiver: AddressReceiver<A>,
    /// Taken out to see whether there is one.
    next: Option<Envelope<A>>,
}

impl<A: Actor<Context = Context<A>>> Inbox<A> {
    pub(super) fn new() -> (Addr<A>, Self) {
        let (sender, receiver) = channel(CAPACITY);
        (Addr::new(sender), Self { receiver, next: None })
    }

    /// A fresh context, so that the handles of one life mean nothing in the next.
    pub(super) fn context(&self) -> Context<A> {
        let mut ctx = Context::new();
        *ctx.parts() = ContextParts::new(self.receiver.sender_producer());
        ctx
    }

    /// Says whether nothing is queued and nobody can send; wakes the task when that may have changed.
    pub(super) fn is_over(&mut self, cx: &mut task::Context<'_>) -> bool {
        // In this order: who sends last and then drops the last address is still heard.
        let connected = self.receiver.connected();
        self.next = self.pop(cx);
        !connected && self.next.is_none()
    }

    fn pop(&mut self, cx: &mut task::Context<'_>) -> Option<Envelope<A>> {
        self.next.take().or_else(|| match futures_core::Stream::poll_next(Pin::new(&mut self.receiver), cx) {
            Poll::Ready(envelope) => envelope,
            Poll::Pending => None,
        })
    }
}

/// Brings the messages of an inbox to one life of its actor; ends when the inbox is over.
///
/// While it runs, the life has work and does not end by itself.
pub(super) struct Pump<A: Actor<Context = Context<A>>> {
    inbox: Rc<RefCell<Inbox<A>>>,
    running: Rc<Cell<bool>>,
}

impl<A: Actor<Context = Context<A>>> Pump<A> {
    /// `running` is true until this pump ends, however that happens.
    pub(super) fn new(inbox: Rc<RefCell<Inbox<A>>>, running: Rc<Cell<bool>>) -> Self {
        running.set(true);
        Self { inbox, running }
    }
}

impl<A: Actor<Context = Context<A>>> ActorFuture<A> for Pump<A> {
    type Output = ();

    fn poll(
        self: Pin<&mut Self>,
        act: &mut A,
        ctx: &mut Context<A>,
        task: &mut task::Context<'_>,
    ) -> Poll<()> {
        for _ in 0..TURN {
            if ctx.waiting() {
                return Poll::Pending;
            }
            // Not borrowed while the handler runs: it may panic.
            let next = self.inbox.borrow_mut().pop(task);
            let Some(mut envelope) = next else {
                let over = self.inbox.borrow_mut().is_over(task);
                return if over { Poll::Ready(()) } else { Poll::Pending };
            };
            envelope.handle(act, ctx);
        }
        task.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<A: Actor<Context = Context<A>>> Drop for Pump<A> {
    fn drop(&mut self) {
        self.running.set(false);
    }
}
