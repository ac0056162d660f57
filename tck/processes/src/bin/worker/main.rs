//! A process that does what it is told until it is killed: `worker URL LEASE_MS DIRECTORY`.
//!
//! The leases are in the storage that the URL names; what they protect, and this process's log, in the
//! directory. It obeys one order per line of its standard input, and ends with it, and so with the test that
//! started it.
//!
//! | order | |
//! |---|---|
//! | `lead` | contends for `leader` from now on |
//! | `pump` | writes to the fence every few milliseconds from now on, while the term is valid |
//! | `write` | writes to the fence once, valid or not, and answers what it said |
//! | `stop` | stops the election |
//! | `count` | adds to the counter from now on, each time under a lock |
//! | `hold` | acquires a lock, and holds it until `release` |
//! | `crowd` | waits for the lock `herd` with ten Simbas of its own, each of which holds it until `yield` |
//! | `yield` | releases what one of the crowd holds |
//! | `turns` | takes and releases the lock `turn` from now on, as fast as it is given |
//! | `turned` | stops that, and answers under which tokens it had it |
//! | `exit` | leaves without a word |
//! | `close` | ends in good order |

mod count;
mod crowd;
mod lead;
mod turns;

use std::{env, error::Error, path::PathBuf, process, time::Duration};

use simba_actors::{Events, LockTerm, Simba, SimbaConfig, SimbaEvent};
use simba_processes::{Counter, Fence};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines, Stdin},
    task::JoinHandle,
};

use crowd::Crowd;
use lead::Lead;
use turns::Turns;

type Failure = Box<dyn Error>;

/// Longer than any outage that a test makes, and a lease.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the process is about.
struct Worker {
    simba: Simba,
    url: String,
    config: SimbaConfig,
    directory: PathBuf,
    lead: Lead,
    held: Option<LockTerm>,
    crowd: Option<Crowd>,
    turns: Option<Turns>,
    jobs: Vec<JoinHandle<()>>,
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
    let [url, lease, directory] = arguments.try_into().map_err(|_| "worker URL LEASE_MS DIRECTORY")?;
    let config = SimbaConfig::builder().lease(Duration::from_millis(lease.parse()?)).build()?;
    let simba = Simba::builder().url(&url).config(config.clone()).connect().await?;
    actix::spawn(tell(simba.events()));
    answer("ready");
    let directory = PathBuf::from(directory);
    let lead = Lead::new(&directory)?;
    let worker = Worker {
        simba,
        url,
        config,
        directory,
        lead,
        held: None,
        crowd: None,
        turns: None,
        jobs: Vec::new(),
    };
    worker.obey(BufReader::new(tokio::io::stdin()).lines()).await
}

impl Worker {
    async fn obey(mut self, mut orders: Lines<BufReader<Stdin>>) -> Result<(), Failure> {
        while let Some(order) = orders.next_line().await? {
            match order.as_str() {
                "lead" => self.lead.contend(&self.simba).await?,
                "pump" => {
                    let pump = self.lead.pump(Fence::open(&self.directory).await?);
                    self.go(pump);
                }
                "write" => self.lead.write(Fence::open(&self.directory).await?).await?,
                "stop" => self.lead.stop().await?,
                "count" => {
                    let counter = Counter::open(&self.directory).await?;
                    self.go(count::count(self.simba.lock("counter")?, counter));
                }
                "hold" => {
                    let term = self.simba.lock("held")?.acquire(PATIENCE).await?;
                    answer(&format!("held {}", term.token()));
                    self.held = Some(term);
                }
                "release" => {
                    self.held.take().ok_or("nothing is held")?.release().await?;
                    answer("released");
                }
                "crowd" => self.crowd = Some(Crowd::gather(&self.url, &self.config).await?),
                "yield" => self.crowd.as_ref().ok_or("no crowd")?.yield_it()?,
                "turns" => self.turns = Some(Turns::begin(self.simba.lock("turn")?)),
                "turned" => self.turns.take().ok_or("no turns")?.end().await?,
                "exit" => process::exit(0),
                "close" => return self.close().await,
                _ => return Err(format!("no order: {order}").into()),
            }
        }
        Ok(())
    }

    /// A job that fails takes the process with it.
    fn go(&mut self, job: impl Future<Output = Result<(), Failure>> + 'static) {
        self.jobs.push(actix::spawn(async {
            if let Err(error) = job.await {
                answer(&format!("failed {error}"));
                process::exit(1);
            }
        }));
    }

    async fn close(self) -> Result<(), Failure> {
        self.jobs.iter().for_each(JoinHandle::abort);
        self.simba.close().await?;
        answer("closed");
        Ok(())
    }
}

/// Says what becomes of the session; terms are told by who has them.
async fn tell(mut events: Events) {
    while let Some(event) = events.next().await {
        if !matches!(
            event,
            SimbaEvent::Revoked { .. }
                | SimbaEvent::LockAcquired { .. }
                | SimbaEvent::LockReleased { .. }
                | SimbaEvent::Released { .. }
        ) {
            answer(&format!("event {event:?}"));
        }
    }
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn answer(text: &str) {
    println!("{text}");
}
