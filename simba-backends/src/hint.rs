//! Hints: news that make a candidate look at once. All of them may be lost; that costs latency only.

use futures_core::Stream;

use crate::{GroupName, LeaseName};

/// A reason to look now instead of at the next regular time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// That lease is or was free a moment ago.
    Released {
        /// The lease.
        name: LeaseName,
        /// How many sessions wait for it, where the storage can count them.
        waiters: Option<u32>,
    },
    /// The members of that group changed.
    Members(GroupName),
    /// Hints may have been lost: look at everything that is waited for.
    Gap,
}

/// One session's subscription to hints, and which names they shall be about.
///
/// The stream ends only when the backend can hint no more; it reconnects by itself and then says
/// [`Hint::Gap`]. Dropping it ends the subscription.
pub trait HintSource: Stream<Item = Hint> + Send + Unpin {
    /// Asks for hints about a name; one that is free already may be hinted at once.
    fn want(&mut self, name: &LeaseName);

    /// Asks for no more hints about a name.
    fn unwant(&mut self, name: &LeaseName);

    /// Asks for hints about the members of a group. The first comes once every change from then on is hinted: look at
    /// the members then.
    ///
    /// ZooKeeper hints them. The memory storage does so unasked, and all others leave it at that: where no hint comes,
    /// look at the members at regular times.
    fn want_members(&mut self, group: &GroupName) {
        let _ = group; // the default hints nothing
    }

    /// Asks for no more hints about the members of a group.
    fn unwant_members(&mut self, group: &GroupName) {
        let _ = group; // the default hints nothing
    }
}
