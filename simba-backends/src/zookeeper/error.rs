//! What a failed exchange with ZooKeeper means to a caller.

#![expect(clippy::wildcard_enum_match_arm, reason = "the driver's errors are many, and may become more")]

use zookeeper_client::Error;

use crate::{
    BackendError,
    ErrorKind::{
        self, Config, Corrupt, ReadOnly, Schema, Unauthorized, Unavailable, Unexpected, Unsupported,
    },
    Outcome::{self, NotApplied, Unknown},
};

type Meaning = (ErrorKind, Outcome, String);

/// What an error of a call about the node at that path means.
pub(super) fn of(place: &str, path: &str, error: Error) -> BackendError {
    let (kind, outcome, message) = refused(place, path, &error)
        .or_else(|| unserved(place, &error))
        .unwrap_or_else(|| broken(place, path, &error));
    BackendError::new(kind, outcome, message).with_source(error)
}

/// Whether the call that ended so may have taken effect.
pub(super) fn outcome(error: &Error) -> Outcome {
    refused("", "", error).map_or(Unknown, |(_, outcome, _)| outcome)
}

/// What an error of a new connection means. No session was asked for, or nobody knows of it.
pub(super) fn unconnected(place: &str, error: Error) -> BackendError {
    let (kind, message) = match &error {
        Error::AuthFailed => (
            Unauthorized,
            format!(
                "{place} does not let us in: check the credentials, and that it knows this way to log in"
            ),
        ),
        Error::NoHosts | Error::Timeout | Error::ConnectionLoss | Error::SessionExpired => (
            Unavailable,
            format!(
                "{place} cannot be reached, or has no leader for now: check hosts and ports, whether TLS is \
                 expected there, and maxClientCnxns"
            ),
        ),
        Error::BadArguments(_) => (Config, format!("the settings for {place} cannot work: {error}")),
        _ => (Unavailable, format!("{place} cannot be reached: {error}")),
    };
    BackendError::new(kind, NotApplied, message).with_source(error)
}

/// The call waited in vain for an answer.
pub(super) fn unanswered(place: &str, path: &str) -> BackendError {
    BackendError::timeout(format!("{place} has not answered a call about {path} in time"))
}

/// The call was not sent: there is no connection.
pub(super) fn disconnected(place: &str) -> BackendError {
    let message = format!("the connection to {place} is lost, and no other one was made in time");
    BackendError::new(Unavailable, NotApplied, message)
}

/// A node that Simba cannot have written.
pub(super) fn foreign(path: &str, what: &str) -> BackendError {
    let message = format!("the node {path} {what}: it is not Simba's, remove it or use another root");
    BackendError::new(Corrupt, NotApplied, message)
}

/// A node that is needed and goes again and again.
pub(super) fn vanishing(path: &str) -> BackendError {
    let message = format!("the node {path} was made, and was gone again each time: see who deletes it");
    BackendError::new(Unavailable, NotApplied, message)
}

/// Who asks is not who opened the session.
pub(super) fn of_another_client(place: &str) -> BackendError {
    let message = format!(
        "a session on {place} can be used only by the backend that opened it, while the runtime goes on that it was \
         opened on"
    );
    BackendError::new(Unsupported, NotApplied, message)
}

/// The ensemble's plain answers: nothing was done.
fn refused(place: &str, path: &str, error: &Error) -> Option<Meaning> {
    let (kind, message) = match error {
        Error::NoAuth => (
            Unauthorized,
            format!(
                "a permission is missing on {path} of {place}: check the credentials, and the ACL of that node and \
                 its parents (their create and delete decide about the nodes in them)"
            ),
        ),
        Error::InvalidAcl => (
            Unauthorized,
            format!("{place} does not take the ACL for {path}: log in, or set one that it knows"),
        ),
        Error::AuthFailed => (Unauthorized, format!("{place} does not let us in: check the credentials")),
        Error::NoChildrenForEphemerals => (
            Schema,
            format!(
                "a parent of {path} is an ephemeral node: it is not Simba's, remove it or use another root"
            ),
        ),
        Error::NotEmpty => (Corrupt, format!("the node {path} has children: it is not Simba's, remove it")),
        Error::NoNode => (Unavailable, format!("the node {path} or a parent of it is gone")),
        Error::NodeExists => (Unavailable, format!("the node {path} is there already")),
        Error::QuotaExceeded => (ReadOnly, format!("the quota of a parent of {path} is used up: raise it")),
        Error::NotReadOnly => (ReadOnly, format!("{place} takes no writes for now: it has no quorum")),
        Error::Unimplemented => (
            Unsupported,
            format!("{place} does not know a call that Simba needs: use ZooKeeper 3.6 or newer"),
        ),
        Error::BadArguments(_) => (Config, format!("the path {path} cannot be one of ZooKeeper: {error}")),
        Error::Throttled => (Unavailable, format!("{place} has more calls than it takes: try again")),
        _ => return None,
    };
    Some((kind, NotApplied, message))
}

/// No server serves this session for now.
fn unserved(place: &str, error: &Error) -> Option<Meaning> {
    let message = match error {
        Error::SessionExpired | Error::ClientClosed => format!("the session on {place} is over"),
        Error::ConnectionLoss | Error::SessionMoved | Error::Timeout | Error::NoHosts => {
            format!("the connection to {place} broke before its answer")
        }
        _ => return None,
    };
    Some((Unavailable, Unknown, message))
}

fn broken(place: &str, path: &str, error: &Error) -> Meaning {
    let kind = if matches!(error, Error::Custom(_)) { Unavailable } else { Unexpected };
    (kind, Unknown, format!("a call to {place} about {path} has failed: {error}"))
}
