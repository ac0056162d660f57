//! Leads, or waits to: run it in two terminals, and end the one that leads.

use std::{process::ExitCode, time::Duration};

use actix::prelude::*;
use simba_actors::{Elected, Election, Revoked, Simba, Term, backends::Holder};
use simba_examples::{Failure, Options, Screen, Shutdown};

const USAGE: &str = "\
Leads, or waits to lead. Run it in two terminals and end the one that leads:
Ctrl-C hands over at once, `kill -9` within the lease.

  failover [--storage URL] [--lease SECONDS] [--name NAME]

";

/// How often the screen is brought up to date.
const TICK: Duration = Duration::from_secs(1);

/// The leader actor: here is where the work that only one process may do would start and stop.
struct Seat {
    screen: Screen,
}

impl Actor for Seat {
    type Context = Context<Self>;
}

impl Handler<Elected> for Seat {
    type Result = ();
    fn handle(&mut self, Elected(term): Elected, _: &mut Context<Self>) {
        self.screen.event(&format!("ELECTED  token {}", term.token()));
        if term.is_valid() {
            self.screen.status(&leading(&term));
        }
    }
}

impl Handler<Revoked> for Seat {
    type Result = ();
    fn handle(&mut self, Revoked(term, reason): Revoked, _: &mut Context<Self>) {
        self.screen.event(&format!("REVOKED  token {}: {reason}", term.token()));
    }
}

fn main() -> ExitCode {
    simba_examples::run("failover", USAGE, failover)
}

async fn failover(options: Options, mut shutdown: Shutdown) -> Result<(), Failure> {
    let connecting = Simba::builder().url(&options.storage).config(options.config()?).connect();
    let simba = tokio::select! {
        simba = connecting => simba?,
        () = shutdown.requested() => return Ok(()),
    };
    let screen = Screen::new();
    screen.event(&format!(
        "pid {} contends for {} on {}, lease {:?}",
        std::process::id(),
        options.name,
        options.place(),
        options.lease
    ));
    let seat = Seat { screen: screen.clone() }.start();
    let election = simba.election(options.name)?.start(&seat).await?;
    tokio::select! {
        () = show(&election, &screen) => {}
        () = shutdown.requested() => {}
    }
    simba.close().await?;
    screen.event("closed");
    Ok(())
}

/// Shows who leads, second by second.
async fn show(election: &Election, screen: &Screen) {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        ticks.tick().await;
        if let Some(term) = valid(election) {
            screen.status(&leading(&term));
            continue;
        }
        let leader = election.leader().await;
        // The storage may have taken its time, and the election gone on.
        if valid(election).is_none() {
            screen.status(&match leader {
                Ok(holder) => waiting(holder.as_ref()),
                Err(error) => format!("waiting  {error}"),
            });
        }
    }
}

/// The term that runs. One that ran out while this process was stopped may not be revoked yet.
fn valid(election: &Election) -> Option<Term> {
    election.term().filter(Term::is_valid)
}

fn leading(term: &Term) -> String {
    format!("LEADING  token {}, valid for {:.1} s", term.token(), term.remaining().as_secs_f64())
}

fn waiting(holder: Option<&Holder>) -> String {
    match holder {
        Some(holder) => format!("waiting  {} leads with token {}", holder.metadata, holder.token),
        None => "waiting  nobody leads".to_owned(),
    }
}
