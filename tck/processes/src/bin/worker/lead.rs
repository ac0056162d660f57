//! Contends for `leader`, logs what becomes of each term, and writes to the fence under its token.

use std::{
    path::Path,
    process,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use actix::prelude::*;
use simba_actors::{Elected, Election, Revoked, Simba, Term};
use simba_processes::{Fence, Log, Record, Verdict, now};
use tokio::time::{MissedTickBehavior, interval};

use super::{Failure, answer};

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

/// The election of this process, and what becomes of its terms.
pub(crate) struct Lead {
    newest: Newest,
    log: Arc<Log>,
    seat: Addr<Seat>,
    election: Option<Election>,
}

impl Lead {
    pub(crate) fn new(directory: &Path) -> Result<Self, Failure> {
        let newest = Newest::default();
        let log = Arc::new(Log::open(directory, process::id())?);
        watch(newest.clone(), Arc::clone(&log))?;
        let seat = Seat { newest: newest.clone(), log: Arc::clone(&log) }.start();
        Ok(Self { newest, log, seat, election: None })
    }

    pub(crate) async fn contend(&mut self, simba: &Simba) -> Result<(), Failure> {
        self.election = Some(simba.election("leader")?.start(&self.seat).await?);
        answer("contends");
        Ok(())
    }

    pub(crate) async fn stop(&mut self) -> Result<(), Failure> {
        self.election.take().ok_or("no election")?.stop().await;
        answer("stopped");
        Ok(())
    }

    /// Whether the term is valid or not.
    pub(crate) async fn write(&self, mut fence: Fence) -> Result<(), Failure> {
        let term = self.newest.get().ok_or("no term yet")?;
        answer(&format!("{:?} {}", fence.write(term.token().get()).await?, term.token()));
        Ok(())
    }

    /// Never ends.
    pub(crate) fn pump(&self, mut fence: Fence) -> impl Future<Output = Result<(), Failure>> + use<> {
        let (newest, log) = (self.newest.clone(), Arc::clone(&self.log));
        let mut pump = interval(PUMP);
        pump.set_missed_tick_behavior(MissedTickBehavior::Delay);
        async move {
            loop {
                pump.tick().await;
                write_while_valid(&newest, &mut fence, &log).await;
            }
        }
    }
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
