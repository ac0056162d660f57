//! One server at a time: standalone, or the master that Sentinels name.

use std::{sync::Arc, time::Duration};

use redis::{Client, Cmd, ErrorKind, PushInfo, ServerErrorKind, Value, aio::MultiplexedConnection};
use tokio::{sync::mpsc, time::timeout};

use super::{
    error::meaning,
    location::Sentinels,
    node::{Failure, Lane, Manner, Node, SharedNode},
    script::Call,
    sentinel::{Current, Found, Master},
    source::Source,
};
use crate::{BackendError, clock::since_boot};

pub(super) struct One {
    place: String,
    way: Way,
    /// How many must have what is to count; 0 for none.
    wait_replicas: u32,
}

enum Way {
    Server {
        node: SharedNode,
        /// Where subscriptions are made if not there: a pool's connections cannot be subscribed with.
        ears: Option<SharedNode>,
    },
    Master(Box<Master>),
}

/// What is to be done on the server.
#[derive(Clone, Copy)]
enum Work<'a> {
    Script { lane: Lane, call: &'a Call, counts: Counts },
    Command(&'a Cmd),
}

/// When a script has been run.
#[derive(Clone, Copy)]
enum Counts {
    Here,
    OnReplicas(u32),
}

impl One {
    /// The server that a client connects to.
    pub(super) fn server(place: String, client: Client, wait_replicas: u32) -> Self {
        let way = Way::Server { node: Arc::new(Node::new(Source::Client(client))), ears: None };
        Self { place, way, wait_replicas }
    }

    /// The server of a pool; the client must lead there too.
    pub(super) fn pooled(
        place: String,
        pool: deadpool_redis::Pool,
        client: Client,
        wait_replicas: u32,
    ) -> Self {
        let node = Arc::new(Node::new(Source::Pool(pool)));
        let ears = Some(Arc::new(Node::new(Source::Client(client))));
        Self { place, way: Way::Server { node, ears }, wait_replicas }
    }

    /// The master that Sentinels name.
    pub(super) fn master(place: String, sentinels: Sentinels, wait_replicas: u32) -> Self {
        let way = Way::Master(Box::new(Master::new(sentinels, place.clone())));
        Self { place, way, wait_replicas }
    }

    /// Its name, without a secret.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// Runs a script, within `limit` for everything that takes.
    ///
    /// # Cancel safety
    /// It may be run all the same; no connection is left in the middle of an exchange.
    pub(super) async fn run(&self, lane: Lane, call: &Call, limit: Duration) -> Result<Value, BackendError> {
        self.perform(Work::Script { lane, call, counts: Counts::Here }, limit).await
    }

    /// Runs a script whose effect counts once as many replicas have it as were asked for.
    ///
    /// # Cancel safety
    /// As of [`run`](Self::run).
    pub(super) async fn run_replicated(
        &self,
        lane: Lane,
        call: &Call,
        limit: Duration,
    ) -> Result<Value, BackendError> {
        let (lane, counts) = match (self.wait_replicas, lane) {
            (0, lane) => (lane, Counts::Here),
            (replicas, Lane::KeepAlive) => (Lane::KeepAlive, Counts::OnReplicas(replicas)),
            (replicas, Lane::Replicated | Lane::Others) => (Lane::Replicated, Counts::OnReplicas(replicas)),
        };
        self.perform(Work::Script { lane, call, counts }, limit).await
    }

    /// Sends a command that belongs to no script.
    ///
    /// # Cancel safety
    /// As of [`run`](Self::run).
    pub(super) async fn command(&self, command: &Cmd, limit: Duration) -> Result<Value, BackendError> {
        self.perform(Work::Command(command), limit).await
    }

    /// Opens a connection that is told of every push.
    ///
    /// # Cancel safety
    /// The connection is closed.
    pub(super) async fn subscriber(
        &self,
        pushes: mpsc::UnboundedSender<PushInfo>,
        limit: Duration,
    ) -> Result<MultiplexedConnection, BackendError> {
        let until = since_boot() + limit;
        match &self.way {
            Way::Server { node, ears } => {
                let opened = subscriber(ears.as_deref().unwrap_or(node), pushes, limit).await;
                opened.map_err(|failure| meaning(&self.place, failure))
            }
            Way::Master(master) => {
                let (Found::Before(known) | Found::Now(known)) = master.find(limit).await?;
                let opened = subscriber(&known.node, pushes, left(until)).await;
                opened.map_err(|failure| self.failed(master, &known, failure))
            }
        }
    }

    /// Closes the connections that are not in use.
    pub(super) fn let_go(&self) {
        match &self.way {
            Way::Server { node, .. } => node.let_go(),
            Way::Master(master) => master.let_go(),
        }
    }

    async fn perform(&self, work: Work<'_>, limit: Duration) -> Result<Value, BackendError> {
        let master = match &self.way {
            Way::Master(master) => master,
            Way::Server { node, .. } => {
                return work.on(node, limit).await.map_err(|failure| {
                    if is_gone(&failure) {
                        // Its other connections are as good as this one was: none is to wait in vain as well.
                        node.let_go();
                    }
                    meaning(&self.place, failure)
                });
            }
        };
        let until = since_boot() + limit;
        let known = match master.find(limit).await? {
            Found::Now(known) => known,
            Found::Before(known) => match awaited(master, &known, work.on(&known.node, left(until))).await {
                // Nothing was sent, so it may as well go to another server.
                Err(Failure::NotConnected(_)) => {
                    master.forget(&known);
                    let (Found::Before(known) | Found::Now(known)) = master.find(left(until)).await?;
                    known
                }
                answer => return answer.map_err(|failure| self.failed(master, &known, failure)),
            },
        };
        let answer = awaited(master, &known, work.on(&known.node, left(until))).await;
        answer.map_err(|failure| self.failed(master, &known, failure))
    }

    /// What a failure means; a server that may be the master no more is forgotten.
    fn failed(&self, master: &Master, known: &Current, failure: Failure) -> BackendError {
        // A master that was cut off from its replicas goes on answering.
        if is_gone(&failure) || matches!(failure, Failure::TooFewReplicas(_)) {
            master.forget(known);
        }
        meaning(&known.place, failure)
    }
}

impl Work<'_> {
    async fn on(self, node: &Node, limit: Duration) -> Result<Value, Failure> {
        match self {
            Self::Script { lane, call, counts: Counts::Here } => {
                node.run(lane, call, Manner::Plain, limit).await
            }
            Self::Script { lane, call, counts: Counts::OnReplicas(replicas) } => {
                // So that its answer comes before we go; to WAIT, 0 is for ever.
                let patience = (limit * 3 / 4).max(Duration::from_millis(1));
                node.run(lane, call, Manner::Replicated { replicas, patience }, limit).await
            }
            Self::Command(command) => node.command(command, limit).await,
        }
    }
}

/// Waits for an answer of a master. Who gives that up before the call's own limit has waited in vain all the same:
/// the master may be frozen, and another in its place by now.
async fn awaited<T>(master: &Master, known: &Current, answer: impl Future<Output = T>) -> T {
    struct Waiting<'a>(Option<(&'a Master, &'a Current)>);

    impl Drop for Waiting<'_> {
        fn drop(&mut self) {
            if let Some((master, known)) = self.0 {
                master.forget(known);
            }
        }
    }

    let mut waiting = Waiting(Some((master, known)));
    let answer = answer.await;
    waiting.0 = None;
    answer
}

async fn subscriber(
    node: &Node,
    pushes: mpsc::UnboundedSender<PushInfo>,
    limit: Duration,
) -> Result<MultiplexedConnection, Failure> {
    match timeout(limit, node.subscriber(pushes)).await {
        Ok(opened) => opened.map_err(Failure::NotConnected),
        Err(_) => Err(Failure::NotConnectedInTime),
    }
}

/// Whether the server is not there, or not the one that serves.
fn is_gone(failure: &Failure) -> bool {
    use ServerErrorKind::{BusyLoading, MasterDown, ReadOnly};
    match failure {
        Failure::NotConnected(_) | Failure::NotConnectedInTime | Failure::NotAnsweredInTime => true,
        Failure::TooFewReplicas(_) => false,
        Failure::Failed(error) => {
            let steps_down = matches!(error.kind(), ErrorKind::Server(ReadOnly | MasterDown | BusyLoading));
            steps_down || !failure.is_answer()
        }
    }
}

fn left(until: Duration) -> Duration {
    until.saturating_sub(since_boot())
}
