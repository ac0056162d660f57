//! What one server thinks of the cluster, as `CLUSTER NODES` tells it.

use std::{collections::BTreeMap, ops::RangeInclusive};

use futures_util::future::join_all;
use redis::FromRedisValue;

use super::{ClusterNode, RedisCluster};
use crate::redis::command::{GLANCE, command};

/// What it thinks of all.
pub(super) struct View {
    state: String,
    members: Vec<Member>,
}

/// What it thinks of one.
pub(super) struct Member {
    pub(super) id: String,
    pub(super) epoch: u64,
    flags: String,
    link: String,
    slots: Vec<RangeInclusive<u16>>,
}

impl View {
    /// Those that serve slots.
    pub(super) fn primaries(&self) -> impl Iterator<Item = &Member> + Clone {
        let serves = |one: &&Member| one.is("master") && !one.is("fail") && !one.slots.is_empty();
        self.members.iter().filter(serves)
    }

    /// The primaries' epochs.
    pub(super) fn epochs(&self) -> BTreeMap<&str, u64> {
        self.primaries().map(|one| (&*one.id, one.epoch)).collect()
    }

    /// Whether that one serves slots.
    pub(super) fn serves(&self, id: &str) -> bool {
        self.primaries().any(|one| one.id == id)
    }

    /// Whether it takes commands.
    pub(super) fn works(&self) -> bool {
        self.state.contains("cluster_state:ok")
    }

    /// Whether everybody is there, as far as this server knows.
    pub(super) fn is_whole(&self) -> bool {
        let there = |one: &Member| one.link == "connected" && !one.is("fail") && !one.is("fail?");
        self.works() && self.members.iter().all(there)
    }
}

impl Member {
    pub(super) fn has(&self, slot: u16) -> bool {
        self.slots.iter().any(|range| range.contains(&slot))
    }

    fn is(&self, flag: &str) -> bool {
        self.flags.split(',').any(|one| one == flag)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (id, _address, flags) = (words.next()?.into(), words.next()?, words.next()?.into());
        let (_primary, _ping, _pong) = (words.next()?, words.next()?, words.next()?);
        let (epoch, link) = (words.next()?.parse().ok()?, words.next()?.into());
        Some(Self { id, epoch, flags, link, slots: words.filter_map(slots).collect() })
    }
}

/// Slots that are being moved stand in brackets and are mentioned a second time.
fn slots(word: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

impl RedisCluster {
    /// Of all servers that are there.
    pub(super) async fn views(&self) -> Vec<(&ClusterNode, View)> {
        let asked = self.nodes.iter().map(|node| async move { Some((node, view_of(node).await?)) });
        join_all(asked).await.into_iter().flatten().collect()
    }

    pub(super) async fn replicas_are_in_step(&self) -> bool {
        let asked = self.nodes.iter().map(async |node| {
            let role = command(node.admin_url(), &["INFO", "replication"], GLANCE).await.ok()?;
            let role = String::from_redis_value(role).ok()?;
            (role.contains("role:master") || role.contains("master_link_status:up")).then_some(())
        });
        join_all(asked).await.iter().all(Option::is_some)
    }
}

async fn view_of(node: &ClusterNode) -> Option<View> {
    let say = async |what| command(node.admin_url(), &["CLUSTER", what], GLANCE).await.ok();
    let state = String::from_redis_value(say("INFO").await?).ok()?;
    let members = String::from_redis_value(say("NODES").await?).ok()?;
    let members = members.lines().filter_map(Member::parse).collect();
    Some(View { state, members })
}
