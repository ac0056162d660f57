//! Adds one to the counter under a lock, again and again: read, wait, write. Order: `close`.

use std::time::Duration;

use simba_actors::{Lock, LockError};
use simba_processes::{Counter, Verdict};
use tokio::time::sleep;

use super::{Failure, Orders, Task, answer};

/// Between reading and writing: long enough that a kill often hits it.
const WORK: Duration = Duration::from_millis(5);
/// Longer than a killed holder's lease.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn count(task: &Task, mut orders: Orders) -> Result<(), Failure> {
    let simba = task.connect().await?;
    let mut counter = Counter::open(&task.url).await?;
    let lock = simba.lock("counter")?;
    answer("ready");
    loop {
        tokio::select! {
            order = orders.next() => match order?.as_deref() {
                Some("close") => break,
                Some(order) => return Err(format!("no order: {order}").into()),
                None => return Ok(()),
            },
            outcome = add_one(&lock, &mut counter) => outcome?,
        }
    }
    simba.close().await?;
    answer("closed");
    Ok(())
}

/// Does not look whether the term is still valid: the token alone must keep the counter right.
async fn add_one(lock: &Lock, counter: &mut Counter) -> Result<(), Failure> {
    let term = lock.acquire(PATIENCE).await?;
    let token = term.token().get();
    let Some(value) = counter.read(token).await? else {
        return refused(term.is_valid());
    };
    sleep(WORK).await;
    if counter.write(token, value + 1).await? == Verdict::Refused {
        return refused(term.is_valid());
    }
    match term.release().await {
        // Lost after the write, or refused above: the counter is right either way.
        Ok(()) | Err(LockError::Lost { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn refused(is_valid: bool) -> Result<(), Failure> {
    if is_valid { Err("refused while the term was valid".into()) } else { Ok(()) }
}
