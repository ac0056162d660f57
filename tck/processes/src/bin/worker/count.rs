//! Adds one to the counter under a lock, again and again: read, wait, write.

use std::time::Duration;

use simba_actors::{Lock, LockError};
use simba_processes::{Counter, Verdict};
use tokio::time::sleep;

use super::{Failure, PATIENCE};

/// Between reading and writing: long enough that a kill often hits it.
const WORK: Duration = Duration::from_millis(5);

pub(crate) async fn count(lock: Lock, mut counter: Counter) -> Result<(), Failure> {
    loop {
        add_one(&lock, &mut counter).await?;
    }
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
