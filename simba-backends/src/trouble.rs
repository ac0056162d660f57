//! What has gone wrong for a task that listens for hints, and tries again and again.

use std::time::Duration;

/// How long to wait before the next try, at first and at most.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long to wait where an operator has to act first.
const REFUSED_PAUSE: Duration = Duration::from_secs(10);

/// What went wrong since something was heard.
pub(crate) struct Trouble {
    pause: Duration,
    told: Told,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nobody,
    Operator,
}

impl Default for Trouble {
    fn default() -> Self {
        Self { pause: PAUSE, told: Told::Nobody }
    }
}

impl Trouble {
    /// How long to wait after a failure: each time longer.
    pub(crate) fn failed(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        pause
    }

    /// How long to wait where an operator has to act, who is told of it once.
    pub(crate) fn refused(&mut self, tell: impl FnOnce()) -> Duration {
        if self.told == Told::Nobody {
            self.told = Told::Operator;
            tell();
        }
        REFUSED_PAUSE
    }
}
