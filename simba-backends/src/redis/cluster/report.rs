//! What a node says of its cluster.

use redis::{Value, cmd, from_redis_value_ref};

use super::{
    super::{error::meaning, node::Failure},
    QUESTION_LIMIT,
    member::Member,
    slots::SlotMap,
};
use crate::BackendError;

/// One node's view.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) health: Health,
    /// The greatest that the node has heard of. Each promotion has a new one, so a greater one means a newer view.
    pub(super) epoch: u64,
    pub(super) map: SlotMap,
}

/// Whether the node takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    /// It serves its slots.
    Serves,
    /// It does not hear from most primaries, or slots lack an owner: it refuses every call.
    Refuses,
}

impl Report {
    /// Asks a node, each question within [`QUESTION_LIMIT`].
    ///
    /// # Errors
    /// It cannot be reached, or is no part of a cluster.
    pub(super) async fn of(member: &Member) -> Result<Self, BackendError> {
        // The epoch comes first: the map is then as new as that, or newer.
        let mut info = cmd("CLUSTER");
        info.arg("INFO");
        let mut slots = cmd("CLUSTER");
        slots.arg("SLOTS");
        let info = member.command(&info, QUESTION_LIMIT).await.map_err(|failure| refusal(member, failure))?;
        let slots =
            member.command(&slots, QUESTION_LIMIT).await.map_err(|failure| refusal(member, failure))?;
        Self::parse(&info, &slots, member.address().host()).ok_or_else(|| {
            let place = member.place();
            BackendError::config(format!("{place} does not answer as a cluster's node does: check the port"))
        })
    }

    fn parse(info: &Value, slots: &Value, asked: &str) -> Option<Self> {
        let info: String = from_redis_value_ref(info).ok()?;
        let field = |name| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let health = if field("cluster_state")? == "ok" { Health::Serves } else { Health::Refuses };
        let epoch = field("cluster_current_epoch")?.parse().ok()?;
        Some(Self { health, epoch, map: SlotMap::parse(slots, asked)? })
    }
}

fn refusal(member: &Member, failure: Failure) -> BackendError {
    if let Failure::Failed(error) = &failure
        && error.detail().is_some_and(|words| words.contains("cluster support disabled"))
    {
        let place = member.place();
        return BackendError::config(format!("{place} is part of no cluster: write redis://host:port"));
    }
    meaning(member.place(), failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_a_state_an_epoch_and_a_map() {
        let slots = Value::Array(Vec::new());
        let said = |state: &str| {
            let info = format!("cluster_state:{state}\r\ncluster_slots_ok:0\r\ncluster_current_epoch:6\r\n");
            Report::parse(&Value::BulkString(info.into_bytes()), &slots, "h").unwrap()
        };
        assert_eq!((said("ok").health, said("ok").epoch), (Health::Serves, 6));
        assert_eq!(said("fail").health, Health::Refuses);
        assert!(Report::parse(&Value::Okay, &slots, "h").is_none());
    }
}
