//! The task that gives an actor one life after another.

use std::{cell::RefCell, future::poll_fn, rc::Rc, task::Poll, time::Duration};

use actix::{Actor, Addr, Context};

use super::{
    Notice,
    inbox::Inbox,
    life::{Death, Life},
    policy::{History, Restart, decide},
};
use crate::clock::Clock;

/// Owns what outlives the actor: its mailbox, the factory, and what the parent hears.
pub(super) struct Supervisor<A: Actor<Context = Context<A>>, F, N: FnMut(Notice)> {
    inbox: Rc<RefCell<Inbox<A>>>,
    factory: F,
    parent: Parent<N>,
}

/// Tells the parent of the end, also when the task is dropped.
struct Parent<N: FnMut(Notice)>(N);

impl<N: FnMut(Notice)> Drop for Parent<N> {
    fn drop(&mut self) {
        (self.0)(Notice::Ended);
    }
}

impl<A, F, N> Supervisor<A, F, N>
where
    A: Actor<Context = Context<A>>,
    F: FnMut() -> A,
    N: FnMut(Notice),
{
    pub(super) fn new(factory: F, on_event: N) -> (Addr<A>, Self) {
        let (addr, inbox) = Inbox::new();
        (addr, Self { inbox: Rc::new(RefCell::new(inbox)), factory, parent: Parent(on_event) })
    }

    /// Ends when nobody has the address and nothing is queued, or waits for either.
    pub(super) async fn run(mut self) {
        // The clock of the timers that the pauses use.
        let clock = Clock::tokio();
        let mut quick_deaths = 0;
        let mut previous = None;
        loop {
            let alive_since = clock.now();
            let death = self.live(previous).await;
            previous = Some(death);
            let (restart, deaths) = decide(History { quick_deaths, alive_since }, clock.now());
            quick_deaths = deaths;
            let over = match restart {
                Restart::Now => self.is_over().await,
                Restart::After(pause) => self.over_within(pause).await,
            };
            if over {
                return;
            }
        }
    }

    async fn live(&mut self, previous: Option<Death>) -> Death {
        match Life::begin(&self.inbox, &mut self.factory) {
            Ok(life) => {
                if let Some(death) = previous {
                    (self.parent.0)(Notice::Restarted { panicked: death == Death::Panicked });
                }
                life.await
            }
            Err(death) => death,
        }
    }

    async fn is_over(&self) -> bool {
        poll_fn(|cx| Poll::Ready(self.inbox.borrow_mut().is_over(cx))).await
    }

    /// Waits for `pause`, or until there is nobody left to wait for.
    async fn over_within(&self, pause: Duration) -> bool {
        let over = poll_fn(|cx| match self.inbox.borrow_mut().is_over(cx) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        });
        tokio::select! {
            biased;
            () = over => true,
            () = tokio::time::sleep(pause) => false,
        }
    }
}
