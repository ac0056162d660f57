//! Errors of a backend: what kind, and whether the call may have taken effect.

use std::{
    error::Error,
    fmt,
    hash::{Hash, Hasher},
    sync::Arc,
};

/// What went wrong, in the few kinds that a caller can act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The storage cannot be reached, or refuses service for now. Worth another try.
    Unavailable,
    /// No answer in time. Worth another try.
    Timeout,
    /// The storage answers but takes no writes for now. Worth another try on a new connection.
    ReadOnly,
    /// Wrong credentials or a missing permission. An operator must act.
    Unauthorized,
    /// Tables are missing or not Simba's. An operator must run the script that the message names.
    Schema,
    /// Data that Simba cannot have written. An operator must look at the key that the message names.
    Corrupt,
    /// The storage, its version or this build cannot do it.
    Unsupported,
    /// A setting or URL that cannot work.
    Config,
    /// What nobody foresaw; the source tells.
    Unexpected,
}

/// Whether a failed call may have happened all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Certainly nothing changed.
    NotApplied,
    /// It may have been applied, or may still be, much later.
    Unknown,
}

/// A failed call.
///
/// Equal to another of the same kind, outcome and message, whatever the source.
/// The message never contains a password: backends put only redacted URLs into it.
#[derive(Clone)]
pub struct BackendError {
    kind: ErrorKind,
    outcome: Outcome,
    message: Arc<str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl BackendError {
    /// An error that says in one lowercase sentence what failed and what to do.
    pub fn new(kind: ErrorKind, outcome: Outcome, message: impl Into<String>) -> Self {
        Self { kind, outcome, message: message.into().into(), source: None }
    }

    /// A setting that cannot work: nothing was applied.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, Outcome::NotApplied, message)
    }

    /// No answer in time: it may have been applied.
    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Timeout, Outcome::Unknown, message)
    }

    /// Adds the driver's own error as the source.
    #[must_use]
    pub fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The same error with another outcome: who knows more about the call than its storage says so.
    #[cfg(any(feature = "postgres", feature = "mysql", feature = "redis", feature = "zookeeper"))]
    pub(crate) fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the call may have been applied.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }
}

impl PartialEq for BackendError {
    fn eq(&self, other: &Self) -> bool {
        (self.kind, self.outcome, &self.message) == (other.kind, other.outcome, &other.message)
    }
}

impl Eq for BackendError {}

impl Hash for BackendError {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind, self.outcome, &self.message).hash(state);
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}/{:?}: {}", self.kind, self.outcome, self.message)?;
        match &self.source {
            Some(source) => write!(f, " ({source})"),
            None => Ok(()),
        }
    }
}

impl Error for BackendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
