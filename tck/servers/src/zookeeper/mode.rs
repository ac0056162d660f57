//! What a server is among the others.

use std::net::SocketAddr;

use super::word::{GLANCE, say};

/// What a server that serves clients says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ZooKeeperMode {
    /// It has no others beside it.
    Standalone,
    /// It is whom the others follow, or it has not noticed yet that they do no more.
    Leader,
    /// It follows the leader, or has not noticed yet that there is none.
    Follower,
    /// It is cut off from the others and lets clients read (`readonlymode.enabled`).
    ReadOnly,
}

impl ZooKeeperMode {
    /// What the server says; none while it serves nobody. It answers `ruok` before that already.
    pub(super) async fn of(address: SocketAddr) -> Option<Self> {
        let said = say(address, "srvr", GLANCE).await.ok()?;
        let mode = said.lines().find_map(|line| line.strip_prefix("Mode: "))?;
        match mode {
            "standalone" => Some(Self::Standalone),
            "leader" => Some(Self::Leader),
            "follower" => Some(Self::Follower),
            "read-only" => Some(Self::ReadOnly),
            other => panic!("a server of the tests is never `{other}`"),
        }
    }
}
