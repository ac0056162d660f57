//! Builds a configuration, or says why it cannot work.

use std::{fmt, time::Duration};

use simba_backends::Metadata;

use super::{ConfigError, SimbaConfig, process};
use crate::engine::{Instant, Timing};

const LEAST_LEASE: Duration = Duration::from_millis(100);
const MOST_LEASE: Duration = Duration::from_secs(24 * 60 * 60);
/// What tokio's timers can tell apart.
const LEAST_TIMER: Duration = Duration::from_millis(1);

/// Collects what [`SimbaConfig`] is made of.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use simba_actors::SimbaConfig;
///
/// let refused = SimbaConfig::builder().lease(Duration::from_secs(6)).renew(Duration::from_secs(5)).build();
/// assert!(refused.unwrap_err().to_string().contains("choose renew of at most 3s"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct SimbaConfigBuilder {
    lease: Duration,
    renew: Option<Duration>,
    drift: f64,
    margin: Duration,
    retry_jitter: Option<Duration>,
    min_backoff: Option<Duration>,
    call_timeout: Option<Duration>,
    /// A refusal waits for `build`, so that the calls chain.
    metadata: Option<Result<Metadata, String>>,
}

impl Default for SimbaConfigBuilder {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            renew: None,
            drift: 0.01,
            margin: Duration::from_millis(50),
            retry_jitter: None,
            min_backoff: None,
            call_timeout: None,
            metadata: None,
        }
    }
}

impl SimbaConfigBuilder {
    /// Sets how long the storage keeps a session that sends no keep-alive; by default 15 s.
    ///
    /// After a crash a name is free when this has passed.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the time from one keep-alive to the next; by default a third of the lease.
    pub fn renew(mut self, renew: Duration) -> Self {
        self.renew = Some(renew);
        self
    }

    /// Sets by what share clocks may run wrong; by default 0.01, one percent.
    pub fn drift(mut self, drift: f64) -> Self {
        self.drift = drift;
        self
    }

    /// Sets what is taken off each deadline for the time between a look at the clock and an act; by
    /// default 50 ms.
    pub fn margin(mut self, margin: Duration) -> Self {
        self.margin = margin;
        self
    }

    /// Sets the random part of a candidate's pace; by default half of the renew interval.
    pub fn retry_jitter(mut self, retry_jitter: Duration) -> Self {
        self.retry_jitter = Some(retry_jitter);
        self
    }

    /// Sets the pause after a first failure, which doubles up to the renew interval; by default 100 ms,
    /// or the renew interval where that is shorter.
    pub fn min_backoff(mut self, min_backoff: Duration) -> Self {
        self.min_backoff = Some(min_backoff);
        self
    }

    /// Sets when a call without an answer is abandoned; by default, and at most, the renew interval.
    pub fn call_timeout(mut self, call_timeout: Duration) -> Self {
        self.call_timeout = Some(call_timeout);
        self
    }

    /// Sets what others can read about this process; by default its host, process id and start.
    ///
    /// At most 1,024 characters, and no secrets: everyone who can read the storage can read it.
    pub fn metadata(mut self, metadata: impl TryInto<Metadata, Error: fmt::Display>) -> Self {
        self.metadata = Some(metadata.try_into().map_err(|error| error.to_string()));
        self
    }

    /// Makes the configuration.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] says which durations do not fit together and what to change.
    pub fn build(self) -> Result<SimbaConfig, ConfigError> {
        let timing = self.timing()?;
        self.check_lifetime(&timing)?;
        let metadata = self.metadata.unwrap_or_else(|| Ok(process::description()));
        Ok(SimbaConfig { timing, metadata: metadata.map_err(ConfigError::Metadata)? })
    }

    /// Fills in the defaults; each duration is within its own bounds.
    fn timing(&self) -> Result<Timing, ConfigError> {
        let lease = self.lease;
        if !(LEAST_LEASE..=MOST_LEASE).contains(&lease) {
            return Err(ConfigError::Lease { lease, least: LEAST_LEASE, most: MOST_LEASE });
        }
        let renew = self.renew.unwrap_or(lease / 3);
        within("renew", renew, "lease", lease)?;
        let min_backoff = self.min_backoff.unwrap_or(Duration::from_millis(100).min(renew));
        within("min_backoff", min_backoff, "renew interval", renew)?;
        let call_timeout = self.call_timeout.unwrap_or(renew);
        within("call_timeout", call_timeout, "renew interval", renew)?;
        let retry_jitter = self.retry_jitter.unwrap_or(renew / 2);
        at_most("retry_jitter", retry_jitter, "lease", lease)?;
        let (drift_ppm, margin) = (ppm(self.drift)?, self.margin);
        Ok(Timing { lease, renew, drift_ppm, margin, retry_jitter, min_backoff, call_timeout })
    }

    /// A term outlives one lost keep-alive by the lease, and the wait for the next by its deadline.
    fn check_lifetime(&self, timing: &Timing) -> Result<(), ConfigError> {
        let Timing { lease, renew, margin, .. } = *timing;
        if renew * 2 > lease {
            return Err(ConfigError::Renew { lease, renew });
        }
        let left = timing.valid_until(Instant::default(), lease).since_origin();
        if left <= renew {
            return Err(ConfigError::NothingLeft { lease, drift: self.drift, margin, left, renew });
        }
        Ok(())
    }
}

fn within(
    what: &'static str,
    given: Duration,
    bound: &'static str,
    most: Duration,
) -> Result<(), ConfigError> {
    if given < LEAST_TIMER {
        return Err(ConfigError::TooShort { what, given, least: LEAST_TIMER });
    }
    at_most(what, given, bound, most)
}

fn at_most(
    what: &'static str,
    given: Duration,
    bound: &'static str,
    most: Duration,
) -> Result<(), ConfigError> {
    if given > most { Err(ConfigError::TooLong { what, given, bound, most }) } else { Ok(()) }
}

/// Rounds up: clocks are trusted less, never more.
fn ppm(drift: f64) -> Result<u32, ConfigError> {
    if !(0.0..0.5).contains(&drift) {
        return Err(ConfigError::Drift { drift });
    }
    Ok((drift * 1_000_000.0).ceil() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn refusal(builder: SimbaConfigBuilder) -> String {
        builder.build().unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_those_of_the_design() {
        let timing = SimbaConfig::default().timing();
        assert_eq!(timing.lease, 15 * SECOND);
        assert_eq!(timing.renew, 5 * SECOND);
        assert_eq!(timing.drift_ppm, 10_000);
        assert_eq!(timing.margin, SECOND / 20);
        assert_eq!(timing.retry_jitter, 5 * SECOND / 2);
        assert_eq!(timing.min_backoff, SECOND / 10);
        assert_eq!(timing.call_timeout, 5 * SECOND);
    }

    #[test]
    fn shortest_and_longest_lease_work_with_defaults() {
        for lease in [LEAST_LEASE, MOST_LEASE] {
            SimbaConfig::builder().lease(lease).build().unwrap();
        }
    }

    #[test]
    fn lease_out_of_range_names_the_range() {
        for lease in [Duration::ZERO, LEAST_LEASE / 2, MOST_LEASE + SECOND, Duration::MAX] {
            let text = refusal(SimbaConfig::builder().lease(lease));
            assert!(text.ends_with("choose between 100ms and 86400s"), "{text}");
        }
    }

    #[test]
    fn drift_out_of_range_names_the_range() {
        for drift in [-0.01, 0.5, f64::NAN, f64::INFINITY] {
            let text = refusal(SimbaConfig::builder().drift(drift));
            assert!(text.contains("choose at least 0 and less than 0.5"), "{text}");
        }
    }

    #[test]
    fn zero_durations_name_the_shortest_that_works() {
        let zero = Duration::ZERO;
        for (what, builder) in [
            ("renew", SimbaConfig::builder().renew(zero)),
            ("min_backoff", SimbaConfig::builder().min_backoff(zero)),
            ("call_timeout", SimbaConfig::builder().call_timeout(zero)),
        ] {
            let text = refusal(builder);
            assert!(text.starts_with(&format!("{what} of 0ns is too short")), "{text}");
            assert!(text.contains("choose at least 1ms, or leave it out"), "{text}");
        }
    }

    #[test]
    fn renew_beyond_half_the_lease_names_both_ways_out() {
        let text = refusal(SimbaConfig::builder().renew(8 * SECOND));
        assert!(text.ends_with("choose renew of at most 7.5s, or lease of at least 16s"), "{text}");
    }

    #[test]
    fn renew_of_half_the_lease_is_refused_only_by_what_drift_and_margin_leave() {
        let half = SimbaConfig::builder().lease(SECOND).renew(SECOND / 2);
        assert!(half.clone().build().is_ok());
        let text = refusal(half.margin(SECOND / 2));
        assert!(text.contains("leaves 490ms"), "{text}");
        assert!(text.ends_with("choose a longer lease, or a shorter renew or margin"), "{text}");
    }

    #[test]
    fn longer_than_what_bounds_it_names_the_bound() {
        let renew = SimbaConfig::builder().renew(SECOND);
        for (builder, end) in [
            (renew.clone().min_backoff(2 * SECOND), "choose at most 1s, the renew interval"),
            (renew.clone().call_timeout(2 * SECOND), "choose at most 1s, the renew interval"),
            (renew.clone().retry_jitter(16 * SECOND), "choose at most 15s, the lease"),
            (renew.clone().renew(16 * SECOND), "choose at most 15s, the lease"),
        ] {
            let text = refusal(builder);
            assert!(text.ends_with(end), "{text}");
        }
    }

    #[test]
    fn metadata_that_is_too_long_says_how_long_it_may_be() {
        let text = refusal(SimbaConfig::builder().metadata("x".repeat(1_025)));
        assert!(text.contains("use at most 1024"), "{text}");
        let config = SimbaConfig::builder().metadata("zone=a").build().unwrap();
        assert_eq!(config.metadata().as_str(), "zone=a");
        assert!(SimbaConfig::builder().metadata(Metadata::default()).build().is_ok());
    }
}
