//! Takes a lock and writes under it to a table that checks the token.

use std::{process::ExitCode, time::Duration};

use simba_actors::{Lock, Simba, Term, Token};
use simba_examples::{Failure, Options, Screen, Shutdown};
use sqlx::{Connection, SqliteConnection};

const USAGE: &str = "\
Takes a lock, adds one to a counter under it, step by step, and releases it.
Run it in several terminals: they take turns, and the counter misses none.

  lock [--hold SECONDS] [--storage URL] [--lease SECONDS] [--name NAME]

The counter is a table in SQLite: in the storage if that is a file, else in counter.db in the
working directory.

  --hold SECONDS   how long the lock is held between reading and writing   [5]
";

/// How long to wait for the lock; more than a lease, so that a crashed holder does not matter.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the write may take; a term that is shorter than that is not begun upon.
const WRITE: Duration = Duration::from_millis(500);

/// Where the resource is if the leases are not in a file.
const ELSEWHERE: &str = "sqlite://counter.db?mode=rwc";

/// The resource: a row with the highest token that it has seen.
const TABLE: &str = "create table if not exists counter (
    name text not null primary key, value integer not null default 0, token integer not null default 0)";

/// The first statement of a term shows the token: from here on the row refuses every earlier holder.
const READ: &str = "insert into counter (name, token) values (?1, ?2)
    on conflict (name) do update set token = excluded.token where excluded.token >= token
    returning value";

const WRITE_BACK: &str = "update counter set value = ?2, token = ?3 where name = ?1 and token <= ?3";

fn main() -> ExitCode {
    simba_examples::run("lock", USAGE, lock)
}

async fn lock(options: Options, mut shutdown: Shutdown) -> Result<(), Failure> {
    let screen = Screen::new();
    let connecting = Simba::builder().url(&options.storage).config(options.config()?).connect();
    let simba = tokio::select! {
        simba = connecting => simba?,
        () = shutdown.requested() => return Ok(()),
    };
    let mut counter = Counter::open(&options.storage).await?;
    let lock = simba.lock(options.name)?;
    let outcome = tokio::select! {
        outcome = turn(&lock, &mut counter, options.hold, &screen) => outcome,
        // The lock is released with the future that holds it.
        () = shutdown.requested() => Ok(()),
    };
    simba.close().await?;
    outcome
}

/// Waits for the lock and adds one under it.
async fn turn(lock: &Lock, counter: &mut Counter, hold: Duration, screen: &Screen) -> Result<(), Failure> {
    if let Some(holder) = lock.holder().await? {
        screen.event(&format!("waiting   {} holds it with token {}", holder.metadata, holder.token));
    }
    let term = lock.acquire(PATIENCE).await?;
    screen.event(&format!("ACQUIRED  token {}", term.token()));
    let value = counter.read(&term).await?;
    screen.event(&format!("read      {value}"));
    work(&term, hold, screen).await?;

    // Not begun unless it can be completed in time; and should even that go wrong, the token tells.
    term.ensure_valid(WRITE)?;
    counter.write(&term, value + 1).await?;
    screen.event(&format!("wrote     {} under token {}", value + 1, term.token()));
    term.release().await?;
    screen.event("released");
    Ok(())
}

/// Stands for work that takes time: it is dropped if the term ends before.
async fn work(term: &Term, hold: Duration, screen: &Screen) -> Result<(), Failure> {
    let work = async {
        for second in 0..hold.as_secs() {
            let (left, valid) = (hold - Duration::from_secs(second), term.remaining());
            screen.status(&format!("working   {left:.0?} to go, valid for {:.1} s", valid.as_secs_f64()));
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        tokio::time::sleep(Duration::from_nanos(hold.subsec_nanos().into())).await;
    };
    term.run(work).await.map_err(|reason| format!("the lock was lost: {reason}"))?;
    Ok(())
}

/// A counter that a stale holder cannot change.
struct Counter {
    driver: SqliteConnection,
}

impl Counter {
    async fn open(storage: &str) -> Result<Self, Failure> {
        let file = if storage.starts_with("sqlite:") { storage } else { ELSEWHERE };
        let mut driver = SqliteConnection::connect(file).await?;
        sqlx::query(TABLE).execute(&mut driver).await?;
        Ok(Self { driver })
    }

    async fn read(&mut self, term: &Term) -> Result<i64, Failure> {
        let read = sqlx::query_scalar(READ).bind(term.name().as_str()).bind(stored(term.token())?);
        read.fetch_optional(&mut self.driver).await?.ok_or_else(|| fenced(term))
    }

    async fn write(&mut self, term: &Term, value: i64) -> Result<(), Failure> {
        let write = sqlx::query(WRITE_BACK).bind(term.name().as_str()).bind(value);
        let done = write.bind(stored(term.token())?).execute(&mut self.driver).await?;
        if done.rows_affected() == 1 { Ok(()) } else { Err(fenced(term)) }
    }
}

fn stored(token: Token) -> Result<i64, Failure> {
    Ok(i64::try_from(token.get())?)
}

fn fenced(term: &Term) -> Failure {
    format!("fenced: {} has seen a higher token than {}", term.name(), term.token()).into()
}
