//! Contends for `leader`, logs what becomes of each term, and writes to the fence under its token.
//!
//! Orders: `pump` writes every few milliseconds from now on, while the term is valid; `write` writes once,
//! valid or not, and answers what the fence said; `close` ends in good order.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use actix::prelude::*;
use simba_actors::{Elected, Revoked, Term};
use simba_processes::{Fence, Log, Record, Verdict, now};
use tokio::time::{MissedTickBehavior, interval};

use super::{Failure, Orders, Task, answer};

/// How often the term is looked at.
const LOOK: Duration = Duration::from_millis(2);
/// How often the fence is written to.
const PUMP: Duration = Duration::from_millis(15);

/// The newest term of this process, valid or not.
#[derive(Clone, Default)]
struct Newest(Arc<Mutex<Option<Term>>>);

impl Newest {
    fn set(&self, term: Term) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(term);
    }

    fn get(&self) -> Option<Term> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Seat {
    newest: Newest,
    log: Arc<Log>,
}

impl Actor for Seat {
    type Context = Context<Self>;
}

impl Handler<Elected> for Seat {
    type Result = ();
    fn handle(&mut self, Elected(term): Elected, _: &mut Context<Self>) {
        self.log.add(&Record::Elected { token: term.token().get(), session: term.session().to_string() });
        answer(&format!("elected {}", term.token()));
        self.newest.set(term);
    }
}

impl Handler<Revoked> for Seat {
    type Result = ();
    fn handle(&mut self, Revoked(term, reason): Revoked, _: &mut Context<Self>) {
        self.log.add(&Record::Revoked { token: term.token().get(), reason: reason.to_string() });
        answer(&format!("revoked {} {reason}", term.token()));
    }
}

pub(crate) async fn lead(task: &Task, mut orders: Orders) -> Result<(), Failure> {
    let (newest, log) = (Newest::default(), Arc::new(Log::open(&task.log)?));
    watch(newest.clone(), Arc::clone(&log))?;
    let simba = task.connect().await?;
    let mut fence = Fence::open(&task.url).await?;
    let seat = Seat { newest: newest.clone(), log: Arc::clone(&log) }.start();
    let _election = simba.election("leader")?.start(&seat).await?;
    answer("ready");

    let mut pump = interval(PUMP);
    pump.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut pumps = false;
    loop {
        tokio::select! {
            order = orders.next() => match order?.as_deref() {
                Some("pump") => pumps = true,
                Some("write") => {
                    let term = newest.get().ok_or("no term yet")?;
                    answer(&format!("{:?} {}", fence.write(term.token().get()).await?, term.token()));
                }
                Some("close") => break,
                Some(order) => return Err(format!("no order: {order}").into()),
                None => return Ok(()),
            },
            _ = pump.tick(), if pumps => write_while_valid(&newest, &mut fence, &log).await,
        }
    }
    simba.close().await?;
    answer("closed");
    Ok(())
}

/// A write that is refused although its term is valid even afterwards shows two valid terms.
async fn write_while_valid(newest: &Newest, fence: &mut Fence, log: &Log) {
    let Some(term) = newest.get().filter(Term::is_valid) else { return };
    let token = term.token().get();
    match fence.write(token).await {
        Ok(Verdict::Refused) if term.is_valid() => log.add(&Record::RefusedWhileValid { token }),
        Ok(Verdict::Accepted | Verdict::Refused) => {}
        Err(error) => log.add(&Record::Failed { error: error.to_string() }),
    }
}

/// Looks at the newest term from a thread that no actor and no runtime can hold up.
#[expect(clippy::disallowed_methods, reason = "what it sees must not depend on any runtime")]
fn watch(newest: Newest, log: Arc<Log>) -> Result<(), Failure> {
    let watch = move || {
        let mut valid = None;
        loop {
            thread::sleep(LOOK);
            if let Some(term) = newest.get() {
                // Before the look: what is valid at the look was valid at this time too.
                let (token, at) = (term.token().get(), now());
                if term.is_valid() {
                    log.add(&Record::Valid { token, at });
                    valid = Some(token);
                } else if valid.take().is_some() {
                    log.add(&Record::Invalid { token, at });
                }
            }
        }
    };
    thread::Builder::new().name("watch".to_owned()).spawn(watch)?;
    Ok(())
}
