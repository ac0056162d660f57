//! The nodes as the reference has them, written out once more.

use std::fmt::Display;

use simba_backends::SessionId;

/// What all nodes are under.
#[derive(Clone, Debug)]
pub(crate) struct Root(pub(crate) String);

impl Root {
    /// That of a URL.
    pub(crate) fn of(url: &str) -> Self {
        let (_, rest) = url.split_once("://").unwrap();
        Self(rest.find('/').map_or("/simba", |at| &rest[at..]).to_owned())
    }

    pub(crate) fn leases(&self) -> String {
        format!("{}/leases", self.0)
    }

    pub(crate) fn lease(&self, name: impl Display) -> String {
        format!("{}/leases/{name}", self.0)
    }

    pub(crate) fn groups(&self) -> String {
        format!("{}/groups", self.0)
    }

    pub(crate) fn group(&self, group: impl Display) -> String {
        format!("{}/groups/{group}", self.0)
    }

    pub(crate) fn member(&self, group: impl Display, session: &SessionId) -> String {
        format!("{}/groups/{group}/{session}", self.0)
    }

    pub(crate) fn sessions(&self) -> String {
        format!("{}/sessions", self.0)
    }

    pub(crate) fn session(&self, session: &SessionId) -> String {
        format!("{}/sessions/{session}", self.0)
    }
}
