//! A node of the cluster, and how its last exchange went.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::Duration,
};

use redis::{Client, Cmd, ConnectionInfo, RedisResult, Value};

use super::{
    super::{
        node::{Failure, Lane, Manner, Node},
        script::Call,
        source::Source,
    },
    address::Address,
};

pub(super) struct Member {
    address: Address,
    /// Its name in messages.
    place: String,
    node: Node,
    /// Whether its last exchange brought no answer: others come first where any will do.
    failing: AtomicBool,
    /// Whether it is being asked for the map. A frozen node has one question to answer, not one a round.
    questioned: AtomicBool,
}

impl Member {
    pub(super) fn new(address: Address, cluster: &str, info: ConnectionInfo) -> RedisResult<Self> {
        let node = Node::new(Source::Client(Client::open(info)?));
        let place = format!("node {address} of {cluster}");
        Ok(Self { address, place, node, failing: AtomicBool::new(false), questioned: AtomicBool::new(false) })
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn node(&self) -> &Node {
        &self.node
    }

    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Relaxed)
    }

    /// Notes that the node did not answer.
    pub(super) fn fails(&self) {
        self.failing.store(true, Relaxed);
    }

    /// See [`Node::run`].
    pub(super) async fn run(
        &self,
        lane: Lane,
        call: &Call,
        manner: Manner,
        limit: Duration,
    ) -> Result<Value, Failure> {
        self.noted(self.node.run(lane, call, manner, limit).await)
    }

    /// See [`Node::connect`].
    pub(super) async fn connect(&self, lane: Lane) -> Result<(), Failure> {
        self.node.connect(lane).await.inspect_err(|_| self.fails())
    }

    /// See [`Node::command`].
    pub(super) async fn command(&self, command: &Cmd, limit: Duration) -> Result<Value, Failure> {
        self.noted(self.node.command(command, limit).await)
    }

    fn noted(&self, result: Result<Value, Failure>) -> Result<Value, Failure> {
        let answered = result.as_ref().err().is_none_or(Failure::is_answer);
        if self.is_failing() == answered {
            self.failing.store(!answered, Relaxed);
        }
        result
    }

    /// The right to ask for the map, unless somebody has it.
    pub(super) fn question(&self) -> Option<Question<'_>> {
        (!self.questioned.swap(true, Relaxed)).then_some(Question { member: self })
    }
}

/// The one question about the map that a node is being asked.
pub(super) struct Question<'a> {
    member: &'a Member,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.member.questioned.store(false, Relaxed);
    }
}
