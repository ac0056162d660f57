use std::{cell::RefCell, future::pending, rc::Rc, time::Duration};

use actix::prelude::*;

use super::*;

type Log = Rc<RefCell<Vec<Notice>>>;

const PANICKED: Notice = Notice::Restarted { panicked: true };
const STOPPED: Notice = Notice::Restarted { panicked: false };

/// An actor that does what it is told and knows which life it is.
struct Subject {
    life: u32,
    handled: u32,
    in_started: fn(u32),
}

impl Actor for Subject {
    type Context = Context<Self>;
    fn started(&mut self, _: &mut Context<Self>) {
        (self.in_started)(self.life);
    }
}

#[derive(Message)]
#[rtype(result = "()")]
enum Do {
    Panic,
    PanicInFuture,
    PanicInTimer,
    CancelAndPanic,
    Stop,
    Work,
}

impl Handler<Do> for Subject {
    type Result = ();
    fn handle(&mut self, order: Do, ctx: &mut Context<Self>) {
        match order {
            Do::Panic => panic!("as told"),
            Do::PanicInFuture => {
                ctx.spawn(async { panic!("as told") }.into_actor(self));
            }
            Do::PanicInTimer => {
                ctx.run_later(Duration::from_millis(5), |_, _| panic!("as told"));
            }
            Do::CancelAndPanic => {
                let handle = ctx.spawn(pending().into_actor(self));
                ctx.cancel_future(handle);
                panic!("as told");
            }
            Do::Stop => ctx.stop(),
            Do::Work => self.handled += 1,
        }
    }
}

/// Resolves never, with the actor's future.
#[derive(Message)]
#[rtype(result = "()")]
struct Wait;

impl Handler<Wait> for Subject {
    type Result = ResponseActFuture<Self, ()>;
    fn handle(&mut self, _: Wait, _: &mut Context<Self>) -> Self::Result {
        Box::pin(pending().into_actor(self))
    }
}

/// Asks for the life and what it has handled, through a future of the context.
#[derive(Message)]
#[rtype(result = "(u32, u32)")]
struct Which;

impl Handler<Which> for Subject {
    type Result = ResponseActFuture<Self, (u32, u32)>;
    fn handle(&mut self, _: Which, _: &mut Context<Self>) -> Self::Result {
        Box::pin(async {}.into_actor(self).map(|(), act, _| (act.life, act.handled)))
    }
}

/// Asks for the address that the context knows.
#[derive(Message)]
#[rtype(result = "Addr<Subject>")]
struct Own;

impl Handler<Own> for Subject {
    type Result = Addr<Subject>;
    fn handle(&mut self, _: Own, ctx: &mut Context<Self>) -> Addr<Self> {
        ctx.address()
    }
}

/// A supervised subject; `in_factory` and `in_started` are told which life it is.
fn subject(in_factory: fn(u32), in_started: fn(u32)) -> (Addr<Subject>, Log) {
    let log = Log::default();
    let (mut life, heard) = (0, log.clone());
    let factory = move || {
        life += 1;
        in_factory(life);
        Subject { life, handled: 0, in_started }
    };
    (supervise_with(factory, move |notice| heard.borrow_mut().push(notice)), log)
}

fn plain() -> (Addr<Subject>, Log) {
    subject(|_| {}, |_| {})
}

/// A System whose tokio time is paused.
fn paused<T>(test: impl Future<Output = T>) -> T {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    System::with_tokio_rt(runtime).block_on(test)
}

async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn panic_in_a_handler_costs_its_message_only() {
    paused(async {
        let (addr, log) = plain();
        let clone = addr.clone();
        assert_eq!(addr.send(Do::Work).await, Ok(()));
        assert_eq!(addr.send(Do::Panic).await, Err(MailboxError::Closed));
        assert_eq!(addr.send(Which).await, Ok((2, 0)));
        assert_eq!(clone.send(Which).await, Ok((2, 0)));
        assert_eq!(*log.borrow(), [PANICKED]);
    });
}

#[test]
fn messages_behind_a_panicking_one_are_handled_by_the_next_life() {
    paused(async {
        let (addr, _) = plain();
        addr.do_send(Do::Work);
        addr.do_send(Do::Panic);
        for _ in 0..100 {
            addr.do_send(Do::Work);
        }
        assert_eq!(addr.send(Which).await, Ok((2, 100)));
    });
}

#[test]
fn messages_behind_a_panicking_one_are_handled_also_without_any_address() {
    paused(async {
        let (addr, log) = plain();
        addr.do_send(Do::Panic);
        let answer = addr.send(Which);
        drop(addr);
        assert_eq!(answer.await, Ok((2, 0)));
        pass(MS).await;
        assert_eq!(*log.borrow(), [PANICKED, Notice::Ended]);
    });
}

#[test]
fn panic_in_a_future_or_timer_of_the_context_is_survived() {
    for order in [Do::PanicInFuture, Do::PanicInTimer, Do::CancelAndPanic] {
        paused(async {
            let (addr, log) = plain();
            addr.do_send(order);
            pass(10 * MS).await;
            assert_eq!(addr.send(Which).await, Ok((2, 0)));
            assert_eq!(*log.borrow(), [PANICKED]);
        });
    }
}

#[test]
fn unresolved_responses_of_a_dead_life_are_closed() {
    paused(async {
        let (addr, _) = plain();
        let waits = actix::spawn(addr.send(Wait));
        pass(MS).await;
        addr.do_send(Do::Panic);
        assert_eq!(waits.await.unwrap(), Err(MailboxError::Closed));
    });
}

#[test]
fn an_actor_that_stops_is_built_anew() {
    paused(async {
        let (addr, log) = plain();
        assert_eq!(addr.send(Do::Stop).await, Ok(()));
        assert_eq!(addr.send(Which).await, Ok((2, 0)));
        assert_eq!(*log.borrow(), [STOPPED]);
    });
}

#[test]
fn panic_in_started_or_in_the_factory_is_survived_without_spinning() {
    let never: fn(u32) = |_| {};
    let thrice: fn(u32) = |life| assert!(life > 3, "as told");
    for (in_factory, in_started) in [(never, thrice), (thrice, never)] {
        paused(async {
            let (addr, log) = subject(in_factory, in_started);
            let answer = actix::spawn(addr.send(Which));
            pass(2 * SECOND).await;
            assert!(!answer.is_finished(), "the third repeat waits for two seconds");
            assert_eq!(answer.await.unwrap(), Ok((4, 0)));
            assert_eq!(log.borrow().last(), Some(&PANICKED));
        });
    }
}

#[test]
fn the_context_knows_the_address_that_outlives_it() {
    paused(async {
        let (addr, _) = plain();
        let own = addr.send(Own).await.unwrap();
        assert_eq!(own, addr);
        drop(addr);
        own.do_send(Do::Panic);
        assert_eq!(own.send(Which).await, Ok((2, 0)));
    });
}

#[test]
fn supervision_ends_with_the_last_address() {
    paused(async {
        let (addr, log) = plain();
        let clone = addr.clone();
        drop(addr);
        pass(MS).await;
        assert!(log.borrow().is_empty());
        drop(clone);
        pass(MS).await;
        assert_eq!(*log.borrow(), [Notice::Ended]);
    });
}

#[test]
fn supervision_ends_with_the_last_address_also_during_a_pause() {
    paused(async {
        let (addr, log) = subject(|_| panic!("as told"), |_| {});
        pass(10 * SECOND).await;
        drop(addr);
        pass(MS).await;
        assert_eq!(*log.borrow(), [Notice::Ended]);
    });
}

#[test]
fn an_address_made_after_the_last_was_dropped_is_heard() {
    paused(async {
        let (addr, log) = plain();
        let weak = addr.downgrade();
        // Held: a dropped request is skipped.
        let waits = actix::spawn(addr.send(Wait));
        drop(addr);
        pass(MS).await;
        let addr = weak.upgrade().expect("the unresolved response keeps the actor");
        assert_eq!(addr.send(Which).await, Ok((1, 0)));
        assert!(log.borrow().is_empty() && !waits.is_finished());
    });
}

#[test]
fn the_parent_hears_of_the_end_also_when_the_system_goes() {
    let (addr, log) = paused(async { plain() });
    assert_eq!(*log.borrow(), [Notice::Ended]);
    assert!(!addr.connected());
}
