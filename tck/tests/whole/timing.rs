//! The settings of every node, and the bounds that follow from them.

use std::time::Duration;

use simba_actors::SimbaConfig;

const MS: Duration = Duration::from_millis(1);

pub(crate) const LEASE: Duration = Duration::from_secs(3);
const RENEW: Duration = Duration::from_secs(1);

/// How late a task may be: timers count whole milliseconds.
pub(crate) const SLACK: Duration = Duration::from_millis(5);

/// How often the invariants are checked, whatever happens.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// After this nothing of a storm is under way, and nobody stays out because of it.
pub(crate) const SETTLED: Duration = Duration::from_millis(6500);

/// The longest stay-out that a step-down asks for, in milliseconds.
pub(crate) const LONGEST_STAY_OUT: u64 = 3000;

pub(crate) fn config() -> SimbaConfig {
    let config = SimbaConfig::builder().lease(LEASE).renew(RENEW).metadata("simulated");
    config.build().expect("these durations fit together")
}

/// I10: the lease, the pace of a candidate with its jitter, and two round trips in calm weather.
pub(crate) fn leaderless() -> Duration {
    LEASE + RENEW / 2 + RENEW / 2 + 40 * MS
}

/// The longest hand-over, the last call, and the farewell to the children.
pub(crate) fn closing() -> Duration {
    LEASE + RENEW + SLACK
}

/// What was held is gone when its lease would have run out; what was asked for, after two calls.
pub(crate) fn stopping() -> Duration {
    LEASE.max(RENEW * 2) + SLACK
}
