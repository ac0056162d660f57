//! Supervision by factory: an address that outlives its actor's panics.
//!
//! actix restarts an actor that stops, never one that panics, and drops its mailbox. Here the mailbox
//! belongs to the supervisor (`inbox`), an actor value and its context make one `life`, and a pure
//! function (`policy`) says how soon the next begins.
//!
//! ```text
//!   Addr -> inbox -> life 1   panics in a handler: that message is lost
//!                 -> life 2   from the factory; handles what was queued
//! ```

mod inbox;
mod life;
mod policy;
mod supervisor;

use actix::{Actor, Addr, Context};
use supervisor::Supervisor;

/// What a parent hears about a supervised child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A new life has begun.
    Restarted {
        /// Whether the one before ended by a panic, its own or its factory's; otherwise it stopped.
        panicked: bool,
    },
    /// There will be no further life.
    Ended,
}

/// Starts an actor on the current Arbiter that `factory` builds anew whenever it stops or panics.
///
/// The address stays the same. It makes no difference where the panic comes from: a handler, a future
/// or timer of the context, `started`, or the factory itself.
///
/// # Guarantees
///
/// - Messages that were queued are handled by the next life. The one being handled when the panic came
///   is lost, and so are responses not yet resolved: their senders get `MailboxError::Closed`.
/// - After a panic `stopping` and `stopped` are not called, because a handler may have left the actor half
///   changed; what must be cleaned up belongs in its `Drop`.
/// - The first restart is immediate; quick repeats wait 1 s, doubling up to 30 s, until a life has
///   lasted a minute. Meanwhile the mailbox takes messages.
/// - As with every actor, the end comes when all addresses are dropped and nothing is left to do.
///
/// # Panics
///
/// Outside of an Arbiter or System, as [`Actor::start`] does.
///
/// # Examples
///
/// ```
/// use actix::prelude::*;
///
/// struct Counter(u32);
///
/// impl Actor for Counter {
///     type Context = Context<Self>;
/// }
///
/// #[derive(Message)]
/// #[rtype(result = "u32")]
/// struct Add(u32);
///
/// impl Handler<Add> for Counter {
///     type Result = u32;
///     fn handle(&mut self, Add(more): Add, _: &mut Context<Self>) -> u32 {
///         self.0 = self.0.checked_add(more).expect("the counter is not full");
///         self.0
///     }
/// }
///
/// # std::panic::set_hook(Box::new(|_| {}));
/// System::new().block_on(async {
///     let counter = simba_actors::supervise(|| Counter(1));
///     assert_eq!(counter.send(Add(1)).await, Ok(2));
///     assert_eq!(counter.send(Add(u32::MAX)).await, Err(MailboxError::Closed));
///     assert_eq!(counter.send(Add(1)).await, Ok(2));
/// });
/// ```
pub fn supervise<A, F>(factory: F) -> Addr<A>
where
    A: Actor<Context = Context<A>>,
    F: FnMut() -> A + 'static,
{
    supervise_with(factory, |_| {})
}

/// Like [`supervise`], and tells a parent. `Ended` comes also when the supervising task is dropped.
pub(crate) fn supervise_with<A, F>(factory: F, on_event: impl FnMut(Notice) + 'static) -> Addr<A>
where
    A: Actor<Context = Context<A>>,
    F: FnMut() -> A + 'static,
{
    let (addr, supervisor) = Supervisor::new(factory, on_event);
    // Not joined: it ends with the addresses.
    actix::spawn(supervisor.run());
    addr
}

#[cfg(test)]
mod tests;
