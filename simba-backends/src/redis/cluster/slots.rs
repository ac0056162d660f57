//! Which node serves which slot, as far as is known.

use std::ops::RangeInclusive;

use redis::{Value, from_redis_value_ref};

use super::{super::key::SLOTS, address::Address};

/// The owner of each slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotMap {
    /// For each slot a place in `nodes`.
    owners: Vec<Option<u16>>,
    nodes: Vec<Address>,
}

impl Default for SlotMap {
    fn default() -> Self {
        Self { owners: vec![None; usize::from(SLOTS)], nodes: Vec::new() }
    }
}

impl SlotMap {
    /// Reads the answer of `CLUSTER SLOTS`. Where it has no host it means `asked`, the host that gave it.
    pub(super) fn parse(answer: &Value, asked: &str) -> Option<Self> {
        let mut map = Self::default();
        for range in list(answer)? {
            // First and last slot, the primary, its replicas.
            let [first, last, primary, ..] = list(range)? else { return None };
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last >= SLOTS {
                return None;
            }
            if let Some(address) = endpoint(list(primary)?, asked) {
                map.give(first..=last, &address);
            }
        }
        Some(map)
    }

    pub(super) fn owner(&self, slot: u16) -> Option<&Address> {
        let owner = *self.owners.get(usize::from(slot))?;
        self.nodes.get(usize::from(owner?))
    }

    /// Whom slots belong to from now on.
    pub(super) fn give(&mut self, slots: RangeInclusive<u16>, to: &Address) {
        let place = self.nodes.iter().position(|node| node == to).unwrap_or_else(|| {
            self.nodes.push(to.clone());
            self.nodes.len() - 1
        });
        let owner = u16::try_from(place).ok();
        for slot in slots {
            if let Some(entry) = self.owners.get_mut(usize::from(slot)) {
                *entry = owner;
            }
        }
    }

    /// The nodes that have been given slots.
    pub(super) fn nodes(&self) -> &[Address] {
        &self.nodes
    }

    /// Whether nothing is known yet.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// The address in `[endpoint, port, id, [key, value, ..]]`. The endpoint is the host, null or empty where that is
/// the one that was asked, or `?` for a node that has not been given the name it should announce; then its IP
/// address is among the pairs.
fn endpoint(node: &[Value], asked: &str) -> Option<Address> {
    let [host, port, rest @ ..] = node else { return None };
    let port = number(port)?;
    let host = text(host).unwrap_or_default();
    match host.as_str() {
        "" => Some(Address::new(asked, port)),
        "?" => Some(Address::new(&ip(rest.get(1)?)?, port)),
        host => Some(Address::new(host, port)),
    }
}

fn ip(pairs: &Value) -> Option<String> {
    let pairs: Vec<(String, String)> = from_redis_value_ref(pairs).ok()?;
    pairs.into_iter().find(|(key, ip)| key == "ip" && !ip.is_empty()).map(|(_, ip)| ip)
}

fn list(value: &Value) -> Option<&[Value]> {
    value.as_sequence()
}

fn number(value: &Value) -> Option<u16> {
    from_redis_value_ref(value).ok()
}

fn text(value: &Value) -> Option<String> {
    from_redis_value_ref::<Option<String>>(value).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(bytes: &str) -> Option<SlotMap> {
        let value = redis::parse_redis_value(bytes.replace(' ', "\r\n").as_bytes()).unwrap();
        SlotMap::parse(&value, "asked")
    }

    #[test]
    fn each_slot_belongs_to_the_primary_of_its_range() {
        let replica = "*4 $3 n_b :7003 $1 r *0";
        let map = parse(&format!(
            "*2 *4 :0 :5460 *4 $3 n_a :7000 $1 a *0 {replica} *3 :5461 :16383 *4 $3 n_c :7001 $1 b *0 "
        ))
        .unwrap();
        assert_eq!(map.owner(0), Some(&Address::new("n_a", 7000)));
        assert_eq!(map.owner(5460), Some(&Address::new("n_a", 7000)));
        assert_eq!(map.owner(5461), Some(&Address::new("n_c", 7001)));
        assert_eq!(map.owner(16_383), Some(&Address::new("n_c", 7001)));
        assert_eq!(map.owner(16_384), None);
        assert_eq!(map.nodes().len(), 2);
    }

    #[test]
    fn a_node_without_a_host_has_the_one_that_was_asked() {
        for host in ["$-1", "$0 ", "_"] {
            let map = parse(&format!("*1 *3 :0 :1 *4 {host} :7000 $1 a *0 ")).unwrap();
            assert_eq!(map.owner(0), Some(&Address::new("asked", 7000)), "{host}");
            assert_eq!(map.owner(2), None);
        }
    }

    #[test]
    fn a_node_that_lacks_its_name_is_reached_by_its_ip_or_not_at_all() {
        let map = parse("*1 *3 :0 :1 *4 $1 ? :7000 $1 a *2 $2 ip $8 10.0.0.1 ").unwrap();
        assert_eq!(map.owner(0), Some(&Address::new("10.0.0.1", 7000)));
        let map = parse("*1 *3 :0 :1 *4 $1 ? :7000 $1 a *0 ").unwrap();
        assert!(map.owner(0).is_none() && map.is_empty());
    }

    #[test]
    fn what_is_no_map_is_none() {
        for answer in
            ["+OK ", "*1 *2 :0 :1 ", "*1 *3 :0 :16384 *3 $1 h :1 $1 a ", "*1 *3 :2 :1 *3 $1 h :1 $1 a "]
        {
            assert_eq!(parse(answer), None, "{answer}");
        }
        assert!(parse("*0 ").unwrap().is_empty());
    }

    #[test]
    fn a_slot_that_has_moved_belongs_to_its_new_owner_and_the_others_stay() {
        let mut map = SlotMap::default();
        let [a, b] = [Address::new("h", 1), Address::new("h", 2)];
        map.give(0..=16_383, &a);
        map.give(7..=7, &b);
        map.give(7..=7, &b);
        assert_eq!([6, 7, 8].map(|slot| map.owner(slot).unwrap().clone()), [a.clone(), b.clone(), a.clone()]);
        assert_eq!(map.nodes(), [a, b]);
    }
}
