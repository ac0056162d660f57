//! A process that contends until it is killed: `worker lead|count|hold URL LEASE_MS LOG`.
//!
//! It obeys one order per line of its standard input, and ends with it, and so with the test that started
//! it. What it does is in the three modules.

mod count;
mod hold;
mod lead;

use std::{env, error::Error, path::PathBuf, process, time::Duration};

use simba_actors::{Simba, SimbaConfig};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

type Failure = Box<dyn Error>;

/// What the test says on the command line.
struct Task {
    url: String,
    lease: Duration,
    log: PathBuf,
}

impl Task {
    async fn connect(&self) -> Result<Simba, Failure> {
        let config = SimbaConfig::builder().lease(self.lease).build()?;
        Ok(Simba::builder().url(&self.url).config(config).connect().await?)
    }
}

/// The lines that the test writes.
struct Orders(Lines<BufReader<Stdin>>);

impl Orders {
    /// The next order; `None` when the test is gone.
    async fn next(&mut self) -> Result<Option<String>, Failure> {
        Ok(self.0.next_line().await?)
    }
}

fn main() {
    let outcome = actix::System::new().block_on(run());
    if let Err(error) = &outcome {
        answer(&format!("failed {error}"));
    }
    // Not by returning: tokio would wait for the line that its thread reads.
    process::exit(i32::from(outcome.is_err()));
}

async fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [what, url, lease, log] = arguments.try_into().map_err(|_| "worker WHAT URL LEASE_MS LOG")?;
    let lease = Duration::from_millis(lease.parse()?);
    let task = Task { url, lease, log: log.into() };
    let orders = Orders(BufReader::new(tokio::io::stdin()).lines());
    match what.as_str() {
        "lead" => lead::lead(&task, orders).await,
        "count" => count::count(&task, orders).await,
        "hold" => hold::hold(&task, orders).await,
        _ => Err(format!("no worker can {what}").into()),
    }
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn answer(text: &str) {
    println!("{text}");
}
