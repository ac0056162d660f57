//! Where a server's connections come from, and how one is known to have ended.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use redis::{
    AsyncConnectionConfig, Client, ErrorKind, ProtocolVersion, PushInfo, PushKind, RedisError, RedisResult,
    aio::MultiplexedConnection,
};
use tokio::sync::mpsc;

use super::node::Failure;

/// Nobody waits that long; a pool's connections end waits by themselves after half a second unless told otherwise.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Where connections come from.
#[expect(clippy::large_enum_variant, reason = "there is one for each server")]
pub(super) enum Source {
    /// Ours, made as the client says.
    Client(Client),
    /// Taken out of the application's pool, for good.
    Pool(deadpool_redis::Pool),
}

/// A connection, and whether it is one still.
#[derive(Clone)]
pub(super) struct Opened {
    connection: MultiplexedConnection,
    closed: Closed,
}

impl Opened {
    /// The connection, unless it is known to have ended.
    pub(super) fn open_still(&self) -> Option<&MultiplexedConnection> {
        (!self.closed.is_set()).then_some(&self.connection)
    }

    pub(super) fn into_connection(self) -> MultiplexedConnection {
        self.connection
    }
}

/// Whether the server has closed a connection, or it has ended with its runtime: what is sent on it then is lost, and
/// nobody could say so.
#[derive(Clone, Default)]
struct Closed(Arc<AtomicBool>);

impl Closed {
    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// What the driver calls for what the server says unasked, its farewell included. The driver's task has it, and
    /// drops it when it ends for whatever reason.
    fn hears(&self) -> impl Fn(PushInfo) -> Result<(), Infallible> + Send + Sync + 'static {
        let ended = Ended(self.clone());
        move |push| {
            if push.kind == PushKind::Disconnection {
                ended.0.set();
            }
            Ok(())
        }
    }
}

/// Closes when it is dropped.
struct Ended(Closed);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.set();
    }
}

impl Source {
    /// Opens a connection for calls.
    pub(super) async fn open(&self) -> Result<Opened, Failure> {
        let closed = Closed::default();
        let connection = match self {
            Self::Client(client) => {
                // Time is kept by who calls.
                let config =
                    AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
                // The driver refuses a listener where the server cannot speak unasked.
                let speaks = client.get_connection_info().redis_settings().protocol();
                let config = if speaks == ProtocolVersion::RESP3 {
                    config.set_push_sender(closed.hears())
                } else {
                    config
                };
                client
                    .get_multiplexed_async_connection_with_config(&config)
                    .await
                    .map_err(Failure::NotConnected)?
            }
            Self::Pool(pool) => {
                let mut connection = match pool.get().await {
                    Ok(connection) => deadpool_redis::Connection::take(connection),
                    Err(deadpool_redis::PoolError::Backend(error)) => {
                        return Err(Failure::NotConnected(error));
                    }
                    Err(deadpool_redis::PoolError::Closed) => {
                        let closed = (ErrorKind::Client, "the application has closed its pool");
                        return Err(Failure::NotConnected(closed.into()));
                    }
                    Err(_) => return Err(Failure::NotConnectedInTime),
                };
                connection.set_response_timeout(LONGEST);
                connection
            }
        };
        Ok(Opened { connection, closed })
    }

    /// Opens a connection that is told of every push, for subscriptions.
    pub(super) async fn subscriber(
        &self,
        pushes: mpsc::UnboundedSender<PushInfo>,
    ) -> RedisResult<MultiplexedConnection> {
        let client = match self {
            Self::Client(client) => client,
            Self::Pool(_) => {
                return Err(RedisError::from((
                    ErrorKind::InvalidClientConfig,
                    "a pool's connections cannot be subscribed with",
                )));
            }
        };
        let info = client.get_connection_info().clone();
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_push_sender(pushes);
        let client = Client::open(info.set_redis_settings(settings))?;
        client.get_multiplexed_async_connection_with_config(&config).await
    }
}
