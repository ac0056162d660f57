//! Where calls go: one server, or the cluster's node that serves their slot.

use std::time::Duration;

use redis::{Cmd, PushInfo, Value, aio::MultiplexedConnection};
use tokio::sync::mpsc;

use super::{cluster::Cluster, node::Lane, one::One, script::Call};
use crate::BackendError;

pub(super) enum Server {
    /// Standalone, or the master that Sentinels name.
    One(One),
    Cluster(Cluster),
}

impl Server {
    /// Its name, without a secret.
    pub(super) fn place(&self) -> &str {
        match self {
            Self::One(one) => one.place(),
            Self::Cluster(cluster) => cluster.place(),
        }
    }

    /// Runs a script, within `limit` for everything that takes.
    ///
    /// # Cancel safety
    /// It may be run all the same; no connection is left in the middle of an exchange.
    pub(super) async fn run(&self, lane: Lane, call: &Call, limit: Duration) -> Result<Value, BackendError> {
        match self {
            Self::One(one) => one.run(lane, call, limit).await,
            Self::Cluster(cluster) => cluster.run(lane, call, limit).await,
        }
    }

    /// Runs a script that counts only once as many replicas have it as the storage was set up with.
    ///
    /// # Cancel safety
    /// As [`run`](Self::run).
    pub(super) async fn run_replicated(
        &self,
        lane: Lane,
        call: &Call,
        limit: Duration,
    ) -> Result<Value, BackendError> {
        match self {
            Self::One(one) => one.run_replicated(lane, call, limit).await,
            // Refused where the storage is set up.
            Self::Cluster(cluster) => cluster.run(lane, call, limit).await,
        }
    }

    /// Sends a command that belongs to no key, to whichever server takes it.
    pub(super) async fn command(&self, command: &Cmd, limit: Duration) -> Result<Value, BackendError> {
        match self {
            Self::One(one) => one.command(command, limit).await,
            Self::Cluster(cluster) => cluster.command(command, limit).await,
        }
    }

    /// Opens a connection that hears what is published, wherever that is.
    pub(super) async fn subscriber(
        &self,
        pushes: mpsc::UnboundedSender<PushInfo>,
        limit: Duration,
    ) -> Result<MultiplexedConnection, BackendError> {
        match self {
            Self::One(one) => one.subscriber(pushes, limit).await,
            Self::Cluster(cluster) => cluster.subscriber(pushes, limit).await,
        }
    }

    /// Closes the connections that are not in use: who connects may be on another runtime than who calls, and
    /// a connection is served by the runtime that it was opened on.
    pub(super) fn let_go(&self) {
        match self {
            Self::One(one) => one.let_go(),
            Self::Cluster(cluster) => cluster.let_go(),
        }
    }
}
