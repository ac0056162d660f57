//! Durations that fit together, and what the process says about itself.

mod builder;
mod error;
mod process;

use std::time::Duration;

pub use builder::SimbaConfigBuilder;
pub use error::ConfigError;
use simba_backends::Metadata;

use crate::engine::Timing;

/// Says how long leases last, how often they are renewed, and how far clocks are trusted.
///
/// A value of this type always works: [`SimbaConfigBuilder::build`] refuses durations that do not fit
/// together. All processes that contend for the same names should use the same lease.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use simba_actors::SimbaConfig;
///
/// let config = SimbaConfig::builder().lease(Duration::from_secs(6)).build()?;
/// assert_eq!(config.renew(), Duration::from_secs(2));
/// # Ok::<_, simba_actors::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimbaConfig {
    timing: Timing,
    metadata: Metadata,
}

impl SimbaConfig {
    /// Starts from the defaults, which the methods of the builder name.
    pub fn builder() -> SimbaConfigBuilder {
        SimbaConfigBuilder::default()
    }

    /// Says how long the storage keeps a session that sends no keep-alive.
    pub fn lease(&self) -> Duration {
        self.timing.lease
    }

    /// Says how often a keep-alive is sent.
    pub fn renew(&self) -> Duration {
        self.timing.renew
    }

    /// Says what others can read about this process.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    pub(crate) fn timing(&self) -> Timing {
        self.timing
    }
}

impl Default for SimbaConfig {
    fn default() -> Self {
        Self::builder().build().expect("the defaults fit together")
    }
}
