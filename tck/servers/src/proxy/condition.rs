//! The state that a way to a server is in.

use std::time::Duration;

/// What happens to a connection whose reply was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostReply {
    /// The client is cut off by RST.
    Reset,
    /// The client hears nothing more on it, also after `heal`.
    Silence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Sound,
    Slow(Duration),
    Silent,
    /// Replies to what began after that many round trips are lost.
    Lossy {
        after: u64,
        then: LostReply,
    },
}
