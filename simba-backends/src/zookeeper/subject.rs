//! What hints can be about.

use zookeeper_client::EventType;

use super::paths::{Paths, Place};
use crate::{GroupName, LeaseName};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Lease(LeaseName),
    Group(GroupName),
}

/// What has become of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Created,
    Deleted,
    Children,
}

impl Subject {
    /// The node that tells of it.
    pub(super) fn path(&self, paths: &Paths) -> String {
        match self {
            Self::Lease(name) => paths.lease(name),
            Self::Group(group) => paths.group(group),
        }
    }

    /// The lease whose node is at that path; nothing if there is none of ours.
    pub(super) fn lease_at(paths: &Paths, path: &str) -> Option<Self> {
        match paths.read(path)? {
            Place::Lease(name) => Some(Self::Lease(name)),
            Place::Member(..) | Place::Session(_) => None,
        }
    }

    pub(super) fn is_lease(&self) -> bool {
        matches!(self, Self::Lease(_))
    }
}

impl Change {
    /// What an event tells; nothing where it is about no node, or its data.
    pub(super) fn of(event: EventType) -> Option<Self> {
        match event {
            EventType::NodeCreated => Some(Self::Created),
            EventType::NodeDeleted => Some(Self::Deleted),
            EventType::NodeChildrenChanged => Some(Self::Children),
            EventType::NodeDataChanged | EventType::Session => None,
        }
    }
}
