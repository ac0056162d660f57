//! What a storage can promise beyond the contract.

/// Whose clock measures the leases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// A clock of the storage's own: no client's wall clock matters.
    #[default]
    Storage,
    /// The wall clock of the one host that all clients share. A step of it is a step of the storage's
    /// clock, which the promise excludes.
    HostWallClock,
}

/// Who can use a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionScope {
    /// Any client of the storage that knows its id.
    #[default]
    Storage,
    /// Only the backend that opened it. To all others its calls are
    /// [`Unsupported`](crate::ErrorKind::Unsupported) while it lives.
    Backend,
}

/// What the answer to a keep-alive vouches for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Renewal {
    /// That keep-alive: the full lease remains.
    #[default]
    This,
    /// One that the session sent some time before: more than half the lease remains.
    Earlier,
}

/// What a storage declares; the TCK holds it to that, and to nothing that it does not declare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// A release is hinted to those who wait for the name.
    pub hints: bool,
    /// Tokens survive a restart of the storage.
    pub durable_tokens: bool,
    /// A keep-alive is one call to the storage, however many leases the session holds.
    pub one_call_keep_alive: bool,
    /// Whose clock measures the leases.
    pub clock: ClockSource,
    /// Who can use a session.
    pub session_scope: SessionScope,
    /// What the answer to a keep-alive vouches for.
    pub renewal: Renewal,
}
