//! The connection that subscribes: several loops, each simple, which end together.

use std::{convert::Infallible, future::pending, sync::Arc, time::Duration};

use redis::{
    Cmd, ErrorKind, FromRedisValue, PushInfo, PushKind, RedisError, ServerErrorKind, Value,
    aio::MultiplexedConnection, cmd, from_redis_value,
};
use tokio::{
    select,
    sync::mpsc::UnboundedReceiver,
    task::JoinSet,
    time::{sleep, timeout},
};
use tracing::debug;

use super::{
    Shared,
    listen::Listening,
    node::Lane,
    parts::{Part, parts},
    script::{Call, LOOK},
    server::Server,
    topics::{Step, Topics},
};
use crate::{BackendError, LeaseName, clock::since_boot};

/// How often what lingers is looked through.
const TICK: Duration = Duration::from_millis(500);

/// How often the connection is asked whether it is still one, and how long an answer may take.
const PING: Duration = Duration::from_secs(2);

/// How often waiters are counted at most.
const COUNT: Duration = Duration::from_millis(50);

/// How many looks are under way at once: on a cluster each hash slot takes one.
const LOOKS: usize = 16;

/// How many messages are passed on at once.
const MESSAGES: usize = 256;

/// Why a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// There is nothing to listen to.
    Idle,
    NotConnected(BackendError),
    /// The server does not allow it.
    Refused(RedisError),
    Lost(RedisError),
}

pub(super) struct Subscriber<'a> {
    shared: &'a Arc<Shared>,
    connection: MultiplexedConnection,
}

impl<'a> Subscriber<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, connection: MultiplexedConnection) -> Self {
        Self { shared, connection }
    }

    /// Listens until the connection ends, or nothing is wanted for a while.
    pub(super) async fn serve(self, pushes: UnboundedReceiver<PushInfo>) -> End {
        select! {
            biased;
            end = self.deliver(pushes) => end,
            end = self.subscribe() => end,
            end = self.ping() => end,
            never = self.look() => match never {},
            never = self.count() => match never {},
        }
    }

    fn listening(&self) -> &Listening {
        &self.shared.listening
    }

    /// Passes messages on. Nothing is waited for in between.
    async fn deliver(&self, mut pushes: UnboundedReceiver<PushInfo>) -> End {
        let mut some = Vec::with_capacity(MESSAGES);
        while pushes.recv_many(&mut some, MESSAGES).await > 0 {
            let names: Vec<_> = some.iter().filter_map(|push| self.released(push)).collect();
            if !names.is_empty() {
                self.listening().with(|topics| names.iter().for_each(|name| topics.heard(name)));
                self.listening().to_count.notify_one();
            }
            if some.iter().any(|push| push.kind == PushKind::Disconnection) {
                break;
            }
            some.clear();
        }
        End::Lost(RedisError::from((ErrorKind::Io, "the connection was closed")))
    }

    fn released(&self, push: &PushInfo) -> Option<LeaseName> {
        let (PushKind::Message, Some(Value::BulkString(channel))) = (&push.kind, push.data.first()) else {
            return None;
        };
        self.shared.keys.name_of_channel(str::from_utf8(channel).ok()?)
    }

    /// Keeps subscribed to what is wanted. One command at a time: what comes up meanwhile shares the next.
    async fn subscribe(&self) -> End {
        let mut connection = self.connection.clone();
        loop {
            let done = match self.listening().with(|topics| topics.next_step(since_boot())) {
                Step::Subscribe(names, then) => {
                    let done = connection.subscribe(self.channels(&names)).await;
                    if done.is_ok() {
                        self.listening().with(|topics| topics.subscribed(&names, then));
                        self.listening().to_look.notify_one();
                        self.listening().to_count.notify_one();
                    }
                    done
                }
                Step::Unsubscribe(names) => connection.unsubscribe(self.channels(&names)).await,
                Step::Rest => {
                    select! {
                        biased;
                        () = self.listening().to_subscribe.notified() => {}
                        () = sleep(TICK) => {}
                    }
                    Ok(())
                }
                Step::Close => return End::Idle,
            };
            match done {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoPerm) => {
                    return End::Refused(error);
                }
                Err(error) => return End::Lost(error),
            }
        }
    }

    fn channels(&self, names: &[LeaseName]) -> Vec<String> {
        names.iter().map(|name| self.shared.keys.lease(name)).collect()
    }

    /// Notices that the connection only seems to be there.
    async fn ping(&self) -> End {
        loop {
            sleep(PING).await;
            match timeout(PING, self.ask::<Value>(&cmd("PING"))).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) if is_answer(&error) => {}
                Ok(Err(error)) => return End::Lost(error),
                Err(_) => return End::Lost(RedisError::from((ErrorKind::Io, "no answer in time"))),
            }
        }
    }

    /// Hints what is free already. A server that does not answer holds up nothing that others have.
    async fn look(&self) -> Infallible {
        let mut looks = JoinSet::new();
        loop {
            self.listening().to_look.notified().await;
            let names = self.listening().with(Topics::take_looks);
            for part in parts(&self.shared.server, names, |name| self.shared.keys.lease(name)) {
                while looks.len() >= LOOKS {
                    looks.join_next().await;
                }
                looks.spawn(look_at(Arc::clone(self.shared), part));
            }
            while looks.try_join_next().is_some() {}
        }
    }

    /// Counts who waits, for the next hint.
    async fn count(&self) -> Infallible {
        loop {
            self.listening().to_count.notified().await;
            loop {
                let names = self.listening().with(Topics::take_counts);
                if names.is_empty() {
                    break;
                }
                match self.subscribers_of(&names).await {
                    Ok(counts) => self.listening().with(|topics| {
                        names.iter().zip(counts).for_each(|(name, count)| topics.counted(name, count));
                    }),
                    Err(error) => {
                        debug!(%error, "waiters not counted");
                        return pending().await;
                    }
                }
                sleep(COUNT).await;
            }
        }
    }

    /// How many connections are subscribed to each name. A node of a cluster knows its own; one that does not answer
    /// leaves its out, and then more candidates ask at once.
    async fn subscribers_of(&self, names: &[LeaseName]) -> Result<Vec<u32>, RedisError> {
        let ask = cmd("PUBSUB").arg("NUMSUB").arg(self.channels(names)).to_owned();
        let answers = match &self.shared.server {
            Server::One(_) => vec![self.ask(&ask).await?],
            Server::Cluster(cluster) => cluster.ask_all(&ask, self.shared.call_timeout).await,
        };
        let mut counts = vec![0; names.len()];
        for answer in answers {
            let counted: Vec<(String, u32)> = from_redis_value(answer)?;
            counts.iter_mut().zip(counted).for_each(|(count, (_, more))| *count += more);
        }
        Ok(counts)
    }

    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisError> {
        command.query_async(&mut self.connection.clone()).await
    }
}

/// Whether the server said so: the connection is in order.
fn is_answer(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension)
}

/// Hints those that are free. Where that cannot be found out, their candidates try.
async fn look_at(shared: Arc<Shared>, Part { keys, items: names }: Part<LeaseName>) {
    let call = Call::new(&LOOK).keys(keys);
    let answer = shared.server.run(Lane::Others, &call, shared.call_timeout).await;
    let free = answer.ok().and_then(|answer| from_redis_value::<Vec<usize>>(answer).ok());
    let free: Vec<&LeaseName> = match &free {
        Some(places) => places.iter().filter_map(|place| names.get(place.checked_sub(1)?)).collect(),
        None => names.iter().collect(),
    };
    shared.listening.with(|topics| free.into_iter().for_each(|name| topics.released(name)));
}
