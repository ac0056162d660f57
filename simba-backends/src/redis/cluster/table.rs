//! What is known of the cluster: the slots' owners, and the nodes.

use std::{collections::BTreeMap, sync::Arc};

use redis::ConnectionInfo;

use super::{
    address::Address,
    member::Member,
    report::{Health, Report},
    slots::SlotMap,
};
use crate::BackendError;

pub(super) struct Table {
    place: Arc<str>,
    /// What every node is reached with, but for host and port.
    first: ConnectionInfo,
    seeds: Vec<Address>,
    map: SlotMap,
    /// Of the report that the map is from.
    epoch: u64,
    /// The seeds, the owners of slots, and to whom calls were sent on.
    members: BTreeMap<Address, Arc<Member>>,
}

/// What became of a report.
#[derive(Debug)]
pub(super) enum Offer {
    /// It is the map now.
    Taken,
    /// The map is from a later epoch. The report counts only where nobody knows that epoch any more: the
    /// cluster has been made anew.
    Older(Report),
    /// The node takes no part, so what it knows may be of any age. Better than nothing.
    Refusing(Report),
}

impl Table {
    /// # Errors
    /// The seeds are no cluster's.
    pub(super) fn new(place: Arc<str>, infos: &[ConnectionInfo]) -> Result<Self, BackendError> {
        let Some(first) = infos.first().cloned() else {
            return Err(BackendError::config(format!("{place} has no host: name one node at least")));
        };
        let mut seeds = Vec::new();
        let mut members = BTreeMap::new();
        for info in infos {
            let Some(address) = Address::of(info) else {
                return Err(BackendError::config(format!(
                    "{place}: a cluster's nodes are reached by TCP only"
                )));
            };
            if info.redis_settings().db() != 0 {
                return Err(BackendError::config(format!("{place}: a cluster has no database but 0")));
            }
            let member = Member::new(address.clone(), &place, info.clone()).map_err(|error| {
                BackendError::config(format!("{place} cannot be reached as its URL says")).with_source(error)
            })?;
            members.insert(address.clone(), Arc::new(member));
            seeds.push(address);
        }
        Ok(Self { place, first, seeds, map: SlotMap::default(), epoch: 0, members })
    }

    pub(super) fn owner(&self, slot: u16) -> Option<Arc<Member>> {
        self.members.get(self.map.owner(slot)?).cloned()
    }

    /// Whether no node has told the map yet.
    pub(super) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The node of that address, which is known from now on.
    pub(super) fn member(&mut self, address: &Address) -> Option<Arc<Member>> {
        if let Some(member) = self.members.get(address) {
            return Some(Arc::clone(member));
        }
        let info = address.reached_like(&self.first);
        let member = Member::new(address.clone(), &self.place, info)
            .inspect_err(|error| tracing::warn!(%address, %error, "a node of the cluster cannot be reached"));
        let member = Arc::new(member.ok()?);
        self.members.insert(address.clone(), Arc::clone(&member));
        Some(member)
    }

    /// Notes that a slot has moved, and gives its owner.
    pub(super) fn note(&mut self, slot: u16, to: &Address) -> Option<Arc<Member>> {
        let member = self.member(to)?;
        self.map.give(slot..=slot, to);
        Some(member)
    }

    /// Takes a report if nothing speaks against it.
    pub(super) fn offer(&mut self, report: Report) -> Offer {
        match report.health {
            Health::Refuses => Offer::Refusing(report),
            Health::Serves if report.epoch < self.epoch => Offer::Older(report),
            Health::Serves => {
                self.take(report);
                Offer::Taken
            }
        }
    }

    /// Nodes that are not in the report are forgotten, once their calls are answered. The others keep their
    /// connections.
    pub(super) fn take(&mut self, report: Report) {
        self.map = report.map;
        self.epoch = report.epoch;
        let (map, seeds) = (&self.map, &self.seeds);
        self.members.retain(|address, _| seeds.contains(address) || map.nodes().contains(address));
        for address in self.map.nodes().to_vec() {
            self.member(&address);
        }
    }

    /// The owners of slots; the seeds while there are none.
    pub(super) fn primaries(&self) -> Vec<Arc<Member>> {
        let addresses = if self.map.is_empty() { &self.seeds[..] } else { self.map.nodes() };
        addresses.iter().filter_map(|address| self.members.get(address).cloned()).collect()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.members.values()
    }
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;

    use super::*;

    fn table() -> Table {
        let seeds = ["redis://h:1/", "redis://h:2/"].map(|url| url.into_connection_info().unwrap());
        Table::new("x".into(), &seeds).unwrap()
    }

    fn report(health: Health, epoch: u64, owner: u16) -> Report {
        let mut map = SlotMap::default();
        map.give(0..=16_383, &Address::new("h", owner));
        Report { health, epoch, map }
    }

    fn port_of(table: &Table, slot: u16) -> String {
        table.owner(slot).unwrap().address().to_string()
    }

    #[test]
    fn a_cut_off_primary_does_not_bring_back_what_was_before_its_successor() {
        let mut table = table();
        assert!(matches!(table.offer(report(Health::Serves, 6, 1)), Offer::Taken));
        assert!(matches!(table.offer(report(Health::Serves, 7, 3)), Offer::Taken));
        // Until it notices that it is alone it says that all is well; then it refuses.
        assert!(matches!(table.offer(report(Health::Serves, 6, 1)), Offer::Older(_)));
        assert!(matches!(table.offer(report(Health::Refuses, 6, 1)), Offer::Refusing(_)));
        assert_eq!(port_of(&table, 0), "h:3");
    }

    #[test]
    fn a_cut_off_primary_that_answers_first_does_not_pin_the_map() {
        let mut table = table();
        table.offer(report(Health::Serves, 6, 1));
        assert!(matches!(table.offer(report(Health::Refuses, 6, 1)), Offer::Refusing(_)));
        assert!(matches!(table.offer(report(Health::Serves, 7, 3)), Offer::Taken));
        assert_eq!(port_of(&table, 0), "h:3");
    }

    #[test]
    fn nodes_that_stay_keep_their_connections_and_those_that_go_are_forgotten() {
        let mut table = table();
        table.offer(report(Health::Serves, 6, 3));
        let third = table.owner(0).unwrap();
        table.note(7, &Address::new("h", 4)).unwrap();
        assert_eq!((port_of(&table, 7), port_of(&table, 8)), ("h:4".to_owned(), "h:3".to_owned()));
        table.offer(report(Health::Serves, 6, 3));
        assert!(Arc::ptr_eq(&third, &table.owner(7).unwrap()));
        let known: Vec<_> = table.members().map(|member| member.address().to_string()).collect();
        assert_eq!(known, ["h:1", "h:2", "h:3"]);
    }

    #[test]
    fn what_cannot_be_a_cluster_is_refused() {
        for urls in [&[][..], &["redis://h:1/1"], &["redis://h:1/", "unix:///tmp/s"]] {
            let infos: Vec<_> = urls.iter().map(|url| url.into_connection_info().unwrap()).collect();
            assert!(Table::new("x".into(), &infos).is_err(), "{urls:?}");
        }
    }
}
