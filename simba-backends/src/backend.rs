//! The contract between Simba and a storage.

use std::{fmt, time::Duration};

use async_trait::async_trait;

use crate::{
    Acquired, BackendError, Capabilities, GroupName, HintSource, Holder, Joined, KeepAlive, LeaseName,
    Member, Metadata, Opened, Release, SessionId, Token,
};

/// A storage that keeps sessions and the leases attached to them.
///
/// # Contract
///
/// `simba-tck` has one test for each sentence.
///
/// Session
/// - **S1** Opening gives an id that was never used before, and `0 < remaining <= lease`.
/// - **S2** A keep-alive restores the lease, in full unless [`Capabilities::renewal`] says otherwise, and
///   lists exactly what the session holds, with tokens, and the groups it has joined.
/// - **S3** A session that was not kept alive for its lease is expired for keep-alive (which removes
///   it), acquire and join. It is never revived, also not by a keep-alive that waited on a lock of the
///   storage for longer than the lease.
/// - **S4** Closing frees leases and memberships at once, is idempotent, and finishes an earlier close
///   that failed half-way.
/// - **S5** Metadata comes back in [`members`](Self::members) and [`inspect`](Self::inspect).
/// - **S6** A purge removes dead sessions, their memberships, and memberships and holdings whose session
///   is gone: at most once per its interval, at most 1,000 sessions a run. It never removes a token.
/// - **S7** A part of the storage that did not answer is reported as `unknown`, never as lost.
/// - **S8** A keep-alive never moves the session's expiry earlier; one that executes late changes
///   nothing that a newer one answered.
///
/// Lease
/// - **L1** A free name is granted, with a token greater than zero.
/// - **L2** Tokens of a name rise strictly over release, expiry, close, purge, restart of the process
///   and, where declared, of the storage.
/// - **L3** Of any number of sessions racing for a name, exactly one is granted.
/// - **L4** A held name says so, with `free_in` at most the holder's lease where it is known.
/// - **L5** The holder's own repeated acquire answers `AlreadyOwned` with the same token.
/// - **L6** A release frees and is idempotent; a stale token, or another session's release, changes
///   nothing.
/// - **L7** The leases of an expired session can be taken.
/// - **L8** Names are distinct to the last character and its case.
/// - **L9** A batch answers for each name; one locked or corrupt name harms no other.
/// - **L10** No client's wall clock matters, unless [`Capabilities::clock`] says so.
/// - **L11** A lease whose grant never reached the asker shows in the next owned list.
/// - **L12** A keep-alive that races a take-over either wins or sees the lease gone.
/// - **L13** A holder whose session opened after a take-over began is respected.
/// - **L14** A client that is stopped in the middle of an acquire holds up nobody's keep-alive.
///
/// Group
/// - **G1** Who has joined is in the very next view.
/// - **G2** Leave, close and expiry remove a member.
/// - **G3** The view is sorted by session id, without twins.
///
/// Hint (where declared)
/// - **H1** A release is hinted within a second to those who want the name.
/// - **H2** After a reconnect, [`Hint::Gap`](crate::Hint::Gap) says "look again".
/// - **H3** A dropped hint costs latency only.
///
/// Error
/// - **E1** An unreachable, refusing or black-holed storage fails within the call's time-out, with the
///   right [`Outcome`](crate::Outcome).
/// - **E2** Service resumes after a restart, failover or read-only spell without help.
/// - **E3** Wrong credentials, missing tables and foreign data are errors that say what to do. Nothing
///   panics; no secret is shown.
///
/// Load
/// - **C1** 64 sessions taking 200 fresh names each see no error.
/// - **C2** With 10,000 leases on one session a keep-alive is one call, where declared.
///
/// # Retries
///
/// There are none here: trying again is the engine's business. (A deadlock or serialization victim
/// inside one round trip is the storage's own affair and may be run again within the call.)
///
/// # Cancel safety
///
/// Every future may be dropped at any await. The call may then be applied, or not, or later; the
/// backend must stay usable and must not leave a connection in the middle of an exchange.
#[async_trait]
pub trait LeaseBackend: fmt::Debug + Send + Sync + 'static {
    /// Says what this storage can promise beyond the contract. Constant.
    fn capabilities(&self) -> Capabilities;

    /// Tells what an operator should change about this storage, each in one sentence: what was found when it was
    /// connected to that can break a promise later. Constant; nothing unless overridden.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// Opens a session that expires when it is not kept alive for `lease`.
    ///
    /// # Errors
    /// Any kind. With [`Outcome::Unknown`](crate::Outcome) a session may exist that nobody knows; it holds
    /// nothing and expires.
    async fn open_session(&self, lease: Duration, metadata: &Metadata) -> Result<Opened, BackendError>;

    /// Renews a session for another `lease` and tells what it holds.
    ///
    /// # Errors
    /// Any kind; an error says nothing about whether the session lives.
    async fn keep_alive(&self, session: &SessionId, lease: Duration) -> Result<KeepAlive, BackendError>;

    /// Frees everything a session holds and removes it.
    ///
    /// # Errors
    /// Any kind; the same call again finishes the job.
    async fn close_session(&self, session: &SessionId) -> Result<(), BackendError>;

    /// Tries each name once, for this session, and waits for nobody.
    ///
    /// # Errors
    /// For the whole call; a name's own trouble is its [`Acquisition::Failed`](crate::Acquisition).
    async fn acquire(&self, session: &SessionId, names: &[LeaseName]) -> Result<Acquired, BackendError>;

    /// Frees each name that this session holds *with that token*; anything else it leaves alone.
    ///
    /// # Errors
    /// For the whole call; a name's own trouble is its [`Release::Failed`].
    async fn release(
        &self,
        session: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError>;

    /// Makes the session a member of a group for as long as it lives. Idempotent.
    ///
    /// # Errors
    /// Any kind.
    async fn join(&self, session: &SessionId, group: &GroupName) -> Result<Joined, BackendError>;

    /// Ends the session's membership. Idempotent.
    ///
    /// # Errors
    /// Any kind.
    async fn leave(&self, session: &SessionId, group: &GroupName) -> Result<(), BackendError>;

    /// Tells the live members of a group, sorted by session id.
    ///
    /// # Errors
    /// Any kind.
    async fn members(&self, group: &GroupName) -> Result<Vec<Member>, BackendError>;

    /// Tells who holds a lease, or `None` if nobody does.
    ///
    /// # Errors
    /// Any kind.
    async fn inspect(&self, name: &LeaseName) -> Result<Option<Holder>, BackendError>;

    /// Subscribes to hints, or `None` where the storage cannot hint. Connects in the background.
    fn hints(&self) -> Option<Box<dyn HintSource>>;
}
