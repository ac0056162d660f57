//! Where everything is: the layout of the JVM original, and a node of ours for each session's metadata.
//!
//! ```text
//! {root}/leases/{name}             ephemeral, holds the session's id; its czxid is the token
//! {root}/groups/{group}/{session}  ephemeral, under a container
//! {root}/sessions/{session}        ephemeral, holds the metadata
//! ```

use zookeeper_client::SessionId as Number;

use crate::{GroupName, LeaseName, SessionId};

#[derive(Clone, Debug)]
pub(super) struct Paths {
    /// Without a slash at its end: empty for the root of the ensemble.
    root: String,
}

/// What a node of a session is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Lease(LeaseName),
    Member(GroupName, SessionId),
    Session(SessionId),
}

impl Paths {
    pub(super) fn new(root: &str) -> Self {
        Self { root: root.trim_end_matches('/').to_owned() }
    }

    /// What all of them are under.
    pub(super) fn root(&self) -> &str {
        if self.root.is_empty() { "/" } else { &self.root }
    }

    pub(super) fn leases(&self) -> String {
        format!("{}/leases", self.root)
    }

    pub(super) fn lease(&self, name: &LeaseName) -> String {
        format!("{}/leases/{name}", self.root)
    }

    pub(super) fn groups(&self) -> String {
        format!("{}/groups", self.root)
    }

    pub(super) fn group(&self, group: &GroupName) -> String {
        format!("{}/groups/{group}", self.root)
    }

    pub(super) fn member(&self, group: &GroupName, session: &SessionId) -> String {
        format!("{}/groups/{group}/{session}", self.root)
    }

    pub(super) fn sessions(&self) -> String {
        format!("{}/sessions", self.root)
    }

    pub(super) fn session(&self, session: &SessionId) -> String {
        format!("{}/sessions/{session}", self.root)
    }

    /// Whether the node at that path is to go when it has no children left: a group's.
    pub(super) fn is_container(&self, path: &str) -> bool {
        path.strip_prefix(&self.root)
            .and_then(|rest| rest.strip_prefix("/groups/"))
            .is_some_and(|group| !group.contains('/'))
    }

    /// What a path is for; nothing if it is not of ours.
    pub(super) fn read(&self, path: &str) -> Option<Place> {
        let mut parts = path.strip_prefix(&self.root)?.strip_prefix('/')?.split('/');
        let place = match (parts.next()?, parts.next()?, parts.next()) {
            ("leases", name, None) => Place::Lease(name.parse().ok()?),
            ("groups", group, Some(session)) => Place::Member(group.parse().ok()?, id(session)?),
            ("sessions", session, None) => Place::Session(id(session)?),
            _ => return None,
        };
        parts.next().is_none().then_some(place)
    }
}

/// A session's id: the number of ZooKeeper's session in 16 hexadecimal digits.
pub(super) fn id_of(number: Number) -> SessionId {
    format!("{:016x}", number.0).parse().expect("hexadecimal digits are a session id")
}

/// The id that a text is, as [`id_of`] writes it.
pub(super) fn id(text: &str) -> Option<SessionId> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == 16 && text.bytes().all(is_digit)).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for root in ["/simba", "/shop/simba", "/"] {
            let paths = Paths::new(root);
            let (name, group): (LeaseName, GroupName) = ("a.b:c".parse().unwrap(), "g".parse().unwrap());
            let session = id_of(Number(-2));
            assert_eq!(session.as_str(), "fffffffffffffffe");
            assert_eq!(paths.read(&paths.lease(&name)), Some(Place::Lease(name)));
            let member = Place::Member(group.clone(), session.clone());
            assert_eq!(paths.read(&paths.member(&group, &session)), Some(member));
            assert_eq!(paths.read(&paths.session(&session)), Some(Place::Session(session)));
            assert!(paths.is_container(&paths.group(&group)) && !paths.is_container(&paths.groups()));
            assert_eq!(paths.root(), root);
        }
    }

    #[test]
    fn what_others_wrote_is_nothing() {
        let paths = Paths::new("/simba");
        for path in [
            "/simbas/leases/a",
            "/simba/leases",
            "/simba/leases/a/b",
            "/simba/leases/a b",
            "/simba/groups/g",
            "/simba/groups/g/00000000000000AA",
            "/simba/groups/g/1",
            "/simba/sessions/x",
            "/other",
        ] {
            assert_eq!(paths.read(path), None, "{path}");
        }
    }
}
