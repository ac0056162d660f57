//! The one place that reads a clock.

use std::time::{Duration, SystemTime};

use simba_backends::clock::since_boot;

use crate::engine::Instant;

/// How long a suspend of the host, during which tokio's timers stand still, can go unnoticed.
pub(crate) const LOOK: Duration = Duration::from_millis(250);

/// What time it is for this process; a copy shows the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clock {
    /// The time since the host's boot, time spent suspended included.
    Boot,
    /// The time of the tokio runtime, which tests and the simulation pause and advance.
    Tokio {
        /// Where this clock starts.
        origin: tokio::time::Instant,
    },
}

impl Clock {
    /// A clock of the current tokio runtime that starts at zero now.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads clocks")]
    pub(crate) fn tokio() -> Self {
        Self::Tokio { origin: tokio::time::Instant::now() }
    }

    /// The present.
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads clocks")]
    pub(crate) fn now(self) -> Instant {
        Instant::new(match self {
            Self::Boot => since_boot(),
            Self::Tokio { origin } => tokio::time::Instant::now() - origin,
        })
    }
}

/// The wall clock, for texts that people read; nothing is ever decided by it.
#[expect(clippy::disallowed_methods, reason = "the one place that reads clocks")]
pub(crate) fn wall_clock() -> SystemTime {
    SystemTime::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_clock_never_goes_back() {
        let mut last = Clock::Boot.now();
        for _ in 0..1_000 {
            let now = Clock::Boot.now();
            assert!(now >= last);
            last = now;
        }
        assert!(last > Instant::default());
    }

    #[tokio::test(start_paused = true)]
    async fn the_tokio_clock_follows_a_paused_runtime() {
        let clock = Clock::tokio();
        assert_eq!(clock.now(), Instant::default());
        tokio::time::advance(Duration::from_secs(7)).await;
        assert_eq!(clock.now(), Instant::new(Duration::from_secs(7)));
    }
}
