//! The way of one call through the cluster: how long it may take, and how often it may turn.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::BackendError;

/// So many redirections go without a pause. More come only of nodes that do not agree.
const HOPS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// With less time left a call does not go again: it would hardly be answered, and then nobody would know.
const LEAST: Duration = Duration::from_millis(20);

pub(super) struct Trip {
    end: Instant,
    hops: u32,
    pause: Duration,
}

impl Trip {
    pub(super) fn new(limit: Duration) -> Self {
        Self { end: now() + limit, hops: 0, pause: FIRST_PAUSE }
    }

    pub(super) fn left(&self) -> Duration {
        self.end.saturating_duration_since(now())
    }

    /// Goes on to another node, after a pause if it was sent on too often.
    ///
    /// # Errors
    /// `error` when too little time is left.
    pub(super) async fn hop(&mut self, error: BackendError) -> Result<(), BackendError> {
        self.hops += 1;
        if self.hops > HOPS {
            return self.pause(error).await;
        }
        if self.left() < LEAST { Err(error) } else { Ok(()) }
    }

    /// Lets the cluster come to itself.
    ///
    /// # Errors
    /// `error` when too little time is left.
    pub(super) async fn pause(&mut self, error: BackendError) -> Result<(), BackendError> {
        if self.left() < self.pause + LEAST {
            return Err(error);
        }
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.hops = 0;
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "bounds a call in this process; no lease is measured by it")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_sent_to_and_fro_pauses_and_ends_with_its_limit() {
        let mut trip = Trip::new(Duration::from_secs(1));
        let error = || BackendError::config("the last");
        let mut turns = 0;
        while trip.hop(error()).await.is_ok() {
            turns += 1;
        }
        // 10, 20, 40 ms, then 50 ms each, and six turns to each.
        assert!((120..=150).contains(&turns), "{turns}");
        assert!(trip.left() < LONGEST_PAUSE + LEAST);
    }
}
