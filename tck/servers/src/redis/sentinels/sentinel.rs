//! One sentinel.

use std::{collections::BTreeMap, sync::Arc};

use redis::FromRedisValue;

use super::setup::NAME;
use crate::{
    instance::{Instance, verbs},
    redis::{
        administered::administered,
        command::{GLANCE, command},
    },
};

/// One of the [`Sentinels`](crate::Sentinels), which has no data.
///
/// One that was stopped, or whose clock was stepped, by more than two seconds distrusts itself: it does nothing
/// for half a minute.
#[derive(Clone, Debug)]
pub struct Sentinel {
    pub(super) instance: Arc<Instance>,
}

verbs!(Sentinel);
administered!(Sentinel);

impl Sentinel {
    /// The port of the server that it tells clients to be the primary.
    pub(super) async fn names(&self) -> Option<u16> {
        let words = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME];
        let address = command(self.admin_url(), &words, GLANCE).await.ok()?;
        let (_, port): (String, u16) = FromRedisValue::from_redis_value(address).ok()?;
        Some(port)
    }

    /// Whether it knows that many replicas and two other sentinels, and all are there.
    pub(super) async fn knows_all(&self, replicas: usize) -> Option<()> {
        let say = async |what| command(self.admin_url(), &["SENTINEL", what, NAME], GLANCE).await.ok();
        let quorum = String::from_redis_value(say("CKQUORUM").await?).ok()?;
        let known = say("REPLICAS").await?;
        let known: Vec<BTreeMap<String, String>> = Vec::from_redis_value(known).ok()?;
        let linked = |one: &&BTreeMap<String, String>| {
            let is = |field: &str, value: &str| one.get(field).is_some_and(|found| found == value);
            is("flags", "slave") && is("master-link-status", "ok")
        };
        let linked = known.iter().filter(linked).count();
        (quorum.starts_with("OK 3") && linked == replicas).then_some(())
    }
}
