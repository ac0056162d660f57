//! The keys of one prefix, as `simba-redis` of the JVM has them. What is in braces decides the hash slot.

use crate::{GroupName, LeaseName, SessionId};

/// The prefix that all nodes of one installation share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    /// With what stands before `lease:`, `session:` and `group:`, its colon included.
    pub(super) fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into() }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A hash of `session`, `token` and `expires`, which never goes. Also the channel of its releases.
    pub(super) fn lease(&self, name: &LeaseName) -> String {
        format!("{}lease:{{{name}}}", self.prefix)
    }

    /// A hash that goes when the session has expired.
    pub(super) fn session(&self, session: &SessionId) -> String {
        format!("{}session:{{{session}}}", self.prefix)
    }

    /// The set of the names that the session may hold.
    pub(super) fn leases_of(&self, session: &SessionId) -> String {
        format!("{}session:{{{session}}}:leases", self.prefix)
    }

    /// The set of the groups that the session may be in.
    pub(super) fn groups_of(&self, session: &SessionId) -> String {
        format!("{}session:{{{session}}}:groups", self.prefix)
    }

    /// The sorted set of its members' sessions, by when each expires.
    pub(super) fn group(&self, group: &GroupName) -> String {
        format!("{}group:{{{group}}}", self.prefix)
    }

    /// The lease whose channel that is.
    pub(super) fn name_of_channel(&self, channel: &str) -> Option<LeaseName> {
        let name = channel.strip_prefix(&self.prefix)?.strip_prefix("lease:{")?.strip_suffix('}')?;
        name.parse().ok()
    }
}

/// How many hash slots a cluster has.
pub(super) const SLOTS: u16 = 16_384;

/// The hash slot of a key ("Redis cluster specification", Key distribution model).
pub(super) fn slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    let hashed = tag.filter(|tag| !tag.is_empty()).unwrap_or(key);
    hashed.bytes().fold(0, crc16) % SLOTS
}

/// CRC-16/XMODEM.
fn crc16(crc: u16, byte: u8) -> u16 {
    let shifted = crc ^ (u16::from(byte) << 8);
    (0..8).fold(shifted, |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!("123456789".bytes().fold(0, crc16), 0x31c3);
        assert_eq!(slot("foo"), 12_182);
        assert_eq!(slot("{foo}bar"), 12_182);
        assert_eq!(slot("x{}foo"), "x{}foo".bytes().fold(0, crc16) % SLOTS);
    }

    #[test]
    fn keys_of_one_session_share_a_slot_and_names_come_back_from_channels() {
        let keys = Keys::new("simba:");
        let session = SessionId::random();
        assert_eq!(slot(&keys.session(&session)), slot(&keys.leases_of(&session)));
        assert_eq!(slot(&keys.session(&session)), slot(&keys.groups_of(&session)));
        let name: LeaseName = "a.b:c".parse().unwrap();
        assert_eq!(keys.lease(&name), "simba:lease:{a.b:c}");
        assert_eq!(keys.name_of_channel("simba:lease:{a.b:c}"), Some(name));
        assert_eq!(keys.name_of_channel("simba:session:{a}"), None);
    }
}
