//! A message to a leader that is heard even if nobody waits for its handler any more.

use std::{
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use actix::{MailboxError, Message, dev::RecipientRequest};

/// Waits for a handler.
///
/// A mailbox skips a message whose request was dropped. An election ends, with Simba's thread or by a
/// panic, while its leader may still have `Revoked` ahead; so a request without answer is forgotten
/// instead, which costs a few bytes.
pub(super) struct Heard<M: Message<Result = ()> + Send + 'static>(Option<Pin<Box<RecipientRequest<M>>>>);

impl<M: Message<Result = ()> + Send + 'static> Heard<M> {
    pub(super) fn new(request: RecipientRequest<M>) -> Self {
        Self(Some(Box::pin(request)))
    }
}

impl<M: Message<Result = ()> + Send + 'static> Future for Heard<M> {
    type Output = Result<(), MailboxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(request) = &mut self.0 else { return Poll::Pending };
        let answer = request.as_mut().poll(cx);
        if answer.is_ready() {
            self.0 = None;
        }
        answer
    }
}

impl<M: Message<Result = ()> + Send + 'static> Drop for Heard<M> {
    fn drop(&mut self) {
        if let Some(unanswered) = self.0.take() {
            mem::forget(unanswered);
        }
    }
}
