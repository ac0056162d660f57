//! One server: its connections, and an exchange with it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use redis::{
    Cmd, ErrorKind, Pipeline, PushInfo, RedisError, RedisResult, ServerErrorKind, Value,
    aio::MultiplexedConnection, cmd,
};
use tokio::{sync::mpsc, time::timeout};

use super::{
    script::Call,
    source::{Opened, Source},
};

/// Which of a server's connections a call takes. What waits for replicas, and what must not wait behind anything,
/// have their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    KeepAlive,
    Replicated,
    Others,
}

/// What goes with a call in one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    Plain,
    /// After `ASKING`: the slot is on its way to this server.
    Asking,
    /// Before `WAIT`: the call counts once so many replicas have it.
    Replicated {
        replicas: u32,
        patience: Duration,
    },
}

/// Why an exchange brought no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// No connection: nothing was sent.
    NotConnected(RedisError),
    /// No connection in time: nothing was sent.
    NotConnectedInTime,
    /// The server's own error, or one of the connection after the call was sent.
    Failed(RedisError),
    /// No answer in time.
    NotAnsweredInTime,
    /// It was done, and only so many replicas have it.
    TooFewReplicas(i64),
}

pub(super) struct Node {
    source: Source,
    lanes: [Kept; 3],
}

/// A connection that is kept until it fails.
#[derive(Default)]
struct Kept {
    /// Held while connecting, so that one does it for all.
    opening: tokio::sync::Mutex<()>,
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    connection: Option<Opened>,
    /// Counts connections, so that who failed on an old one does not close the next.
    generation: u64,
}

impl Node {
    pub(super) fn new(source: Source) -> Self {
        Self { source, lanes: Default::default() }
    }

    /// Runs a script.
    ///
    /// # Cancel safety
    /// The server runs it all the same once it was sent; the connection is closed.
    pub(super) async fn run(
        &self,
        lane: Lane,
        call: &Call,
        manner: Manner,
        limit: Duration,
    ) -> Result<Value, Failure> {
        self.with_connection(lane, limit, async |connection| exchange(connection, call, manner).await).await
    }

    /// Opens the lane's connection unless there is one; nothing is sent of any call.
    ///
    /// # Cancel safety
    /// Nothing is left behind; whoever waits for the same connection opens it.
    pub(super) async fn connect(&self, lane: Lane) -> Result<(), Failure> {
        self.lane(lane).connection(&self.source).await?.stays();
        Ok(())
    }

    /// Sends a command that belongs to no script.
    pub(super) async fn command(&self, command: &Cmd, limit: Duration) -> Result<Value, Failure> {
        let send = async |connection: &mut MultiplexedConnection| {
            command.query_async(connection).await.map_err(Failure::Failed)
        };
        self.with_connection(Lane::Others, limit, send).await
    }

    async fn with_connection(
        &self,
        lane: Lane,
        limit: Duration,
        exchange: impl AsyncFnOnce(&mut MultiplexedConnection) -> Result<Value, Failure>,
    ) -> Result<Value, Failure> {
        let mut elapsed = Failure::NotConnectedInTime;
        let work = async {
            let mut used = self.lane(lane).connection(&self.source).await?;
            elapsed = Failure::NotAnsweredInTime;
            let answer = exchange(&mut used.connection).await;
            if answer.as_ref().err().is_none_or(Failure::leaves_the_connection) {
                used.stays();
            }
            answer
        };
        // Dropped here, the future takes its connection along.
        let answer = timeout(limit, work).await;
        answer.unwrap_or(Err(elapsed))
    }

    /// Opens a connection that is told of every push, for subscriptions.
    pub(super) async fn subscriber(
        &self,
        pushes: mpsc::UnboundedSender<PushInfo>,
    ) -> RedisResult<MultiplexedConnection> {
        self.source.subscriber(pushes).await
    }

    /// Closes all connections once nothing is under way on them.
    pub(super) fn let_go(&self) {
        for kept in &self.lanes {
            kept.slot().connection = None;
        }
    }

    fn lane(&self, lane: Lane) -> &Kept {
        let [keep_alive, replicated, others] = &self.lanes;
        match lane {
            Lane::KeepAlive => keep_alive,
            Lane::Replicated => replicated,
            Lane::Others => others,
        }
    }
}

impl Failure {
    /// Whether the connection can be used again: the server answered, and goes on serving on it.
    fn leaves_the_connection(&self) -> bool {
        match self {
            Self::NotConnected(_) | Self::NotConnectedInTime | Self::NotAnsweredInTime => false,
            Self::TooFewReplicas(_) => true,
            // A server that takes no writes any more is not the one to talk to.
            Self::Failed(error) => {
                self.is_answer() && error.kind() != ErrorKind::Server(ServerErrorKind::ReadOnly)
            }
        }
    }

    /// Whether the server said it.
    pub(super) fn is_answer(&self) -> bool {
        match self {
            Self::NotConnectedInTime | Self::NotAnsweredInTime | Self::TooFewReplicas(_) => false,
            Self::NotConnected(error) | Self::Failed(error) => {
                matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension)
            }
        }
    }
}

impl Kept {
    async fn connection(&self, source: &Source) -> Result<Used<'_>, Failure> {
        if let Some(used) = self.there() {
            return Ok(used);
        }
        let _opening = self.opening.lock().await;
        if let Some(used) = self.there() {
            return Ok(used);
        }
        // Each call would be as big as an opening.
        let opened = Box::pin(source.open()).await?;
        let mut slot = self.slot();
        slot.generation += 1;
        slot.connection = Some(opened.clone());
        Ok(Used {
            kept: self,
            generation: slot.generation,
            connection: opened.into_connection(),
            fate: Fate::Closed,
        })
    }

    fn there(&self) -> Option<Used<'_>> {
        let slot = self.slot();
        let connection = slot.connection.as_ref()?.open_still()?.clone();
        Some(Used { kept: self, generation: slot.generation, connection, fate: Fate::Closed })
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in use. Unless its exchange comes to its end it is not used again: nobody knows what is in it.
struct Used<'a> {
    kept: &'a Kept,
    generation: u64,
    connection: MultiplexedConnection,
    fate: Fate,
}

enum Fate {
    Stays,
    Closed,
}

impl Used<'_> {
    fn stays(&mut self) {
        self.fate = Fate::Stays;
    }
}

impl Drop for Used<'_> {
    fn drop(&mut self) {
        match self.fate {
            Fate::Stays => {}
            Fate::Closed => {
                let mut slot = self.kept.slot();
                if slot.generation == self.generation {
                    slot.connection = None;
                }
            }
        }
    }
}

async fn exchange(
    connection: &mut MultiplexedConnection,
    call: &Call,
    manner: Manner,
) -> Result<Value, Failure> {
    match send(connection, &call.evalsha(), manner).await {
        // A restart or a SCRIPT FLUSH has made the server forget it; nothing was run.
        Err(Failure::Failed(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
            send(connection, &call.eval(), manner).await
        }
        answer => answer,
    }
}

async fn send(
    connection: &mut MultiplexedConnection,
    command: &Cmd,
    manner: Manner,
) -> Result<Value, Failure> {
    match manner {
        Manner::Plain => command.query_async(connection).await.map_err(Failure::Failed),
        Manner::Asking => {
            let mut both = Pipeline::with_capacity(2);
            both.add_command(cmd("ASKING")).ignore().add_command(command.clone());
            let (answer,) = both.query_async(connection).await.map_err(Failure::Failed)?;
            Ok(answer)
        }
        Manner::Replicated { replicas, patience } => {
            let mut both = Pipeline::with_capacity(2);
            let mut wait = cmd("WAIT");
            wait.arg(replicas).arg(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX));
            both.add_command(command.clone()).add_command(wait);
            let (answer, reached): (Value, i64) =
                both.query_async(connection).await.map_err(Failure::Failed)?;
            if reached < i64::from(replicas) {
                return Err(Failure::TooFewReplicas(reached));
            }
            Ok(answer)
        }
    }
}

/// A node that several hold.
pub(super) type SharedNode = Arc<Node>;
