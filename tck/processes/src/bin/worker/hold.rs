//! Acquires a lock and holds it. Orders: `exit` leaves without a word, `release` releases and closes.

use std::{process, time::Duration};

use simba_actors::LockTerm;

use super::{Failure, Orders, Task, answer};

/// Longer than a lease.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn hold(task: &Task, mut orders: Orders) -> Result<(), Failure> {
    let simba = task.connect().await?;
    answer("ready");
    let term: LockTerm = simba.lock("held")?.acquire(PATIENCE).await?;
    answer(&format!("held {}", term.token()));
    match orders.next().await?.as_deref() {
        Some("exit") => process::exit(0),
        Some("release") => {
            term.release().await?;
            answer("released");
            simba.close().await?;
            Ok(())
        }
        Some(order) => Err(format!("no order: {order}").into()),
        None => Ok(()),
    }
}
