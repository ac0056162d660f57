//! Polling with a bound.

use std::{future::Future, time::Duration};

use tokio::time::{sleep, timeout};

/// No server takes longer for anything: whoever waits for more is stuck.
const BOUND: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(10);

/// Asks again and again until there is an answer.
///
/// # Panics
/// After a minute.
pub(crate) async fn until<T, F>(what: &str, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            sleep(PAUSE).await;
        }
    };
    timeout(BOUND, asking).await.unwrap_or_else(|_| panic!("{what}: not within {BOUND:?}"))
}
