//! Setting up the storage.

use std::{fmt, sync::Arc, time::Duration};

use redis::{Client, RedisError, Value, cmd};
use tracing::warn;

use super::{
    RedisBackend, Shared,
    cluster::Cluster,
    error::meaning,
    key::{self, Keys},
    known::Known,
    listen::Listening,
    location::Location,
    node::{Failure, Lane},
    one::One,
    script::{self, Call},
    server::Server,
    settings::{Mode, Settings},
};
use crate::{BackendError, ErrorKind, Outcome, SessionId, tls};

/// Nobody waits that long, and WAIT counts milliseconds.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
const LONGEST_PREFIX: usize = 64;

/// The settings of a [`RedisBackend`].
#[derive(Clone)]
pub struct RedisBuilder {
    location: Location,
    /// Where connections for calls come from if not from us.
    pool: Option<deadpool_redis::Pool>,
    prefix: String,
    wait_replicas: u32,
    call_timeout: Duration,
}

impl RedisBuilder {
    pub(super) fn from_url(url: &str) -> Result<Self, BackendError> {
        let written = Location::parse(url)?;
        let mut builder = Self::new(written.location);
        if let Some(prefix) = written.prefix {
            builder.prefix = prefix;
        }
        builder.wait_replicas = written.wait_replicas.unwrap_or_default();
        Ok(builder)
    }

    pub(super) fn from_client(client: &Client) -> Self {
        Self::new(Location::of_client(client))
    }

    pub(super) fn from_pool(pool: deadpool_redis::Pool, client: &Client) -> Self {
        Self { pool: Some(pool), ..Self::from_client(client) }
    }

    fn new(location: Location) -> Self {
        Self {
            location,
            pool: None,
            prefix: "simba:".to_owned(),
            wait_replicas: 0,
            call_timeout: Duration::from_secs(2),
        }
    }

    /// Sets what the names of all keys and channels begin with, `simba:` unless set: from 1 to 64 characters, no
    /// braces, no blanks. Only nodes with the same prefix know of each other.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets how many replicas must have a grant and a keep-alive before it counts (`WAIT`), 0 unless set. With
    /// fewer of them at hand nothing is acquired or kept. That narrows the window in which a fail-over takes a
    /// token back, and does not close it. Not on a cluster: there set `min-replicas-to-write` on the servers.
    #[must_use]
    pub fn wait_replicas(mut self, replicas: u32) -> Self {
        self.wait_replicas = replicas;
        self
    }

    /// Sets how long a call waits: for a new connection (and for finding the master), and for its answer. 2 s
    /// unless set; at most the renew interval, after which the engine gives up on a call anyway.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Connects, and looks whether the server is one that Simba can use, and lets us do all that Simba does.
    ///
    /// What an operator should change about a server that works all the same is logged as a warning.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for a setting that cannot work and a server of another kind than the
    /// URL says, [`Unauthorized`](crate::ErrorKind::Unauthorized) (the message names the permission that is
    /// missing), [`Unsupported`](crate::ErrorKind::Unsupported) before Redis 7,
    /// [`ReadOnly`](crate::ErrorKind::ReadOnly), [`Unavailable`](crate::ErrorKind::Unavailable) and
    /// [`Timeout`](crate::ErrorKind::Timeout).
    ///
    /// # Cancel safety
    /// Nothing is held by a dropped call.
    pub async fn connect(self) -> Result<RedisBackend, BackendError> {
        self.check()?;
        if self.location.is_secure() {
            tls::choose_provider();
        }
        let server = self.server()?;
        let keys = Keys::new(self.prefix.as_str());
        let settings = Settings::ask(&server, self.call_timeout).await.map_err(|error| self.unmet(error))?;
        settings.check(server.place(), self.mode())?;
        self.try_out(&server, &keys).await?;
        let mut warnings = settings.warnings(server.place());
        warnings.extend(self.missing_replicas(&server).await?);
        server.let_go();
        let shared = Shared {
            durable_tokens: settings.durable_tokens(),
            warnings,
            server,
            keys,
            call_timeout: self.call_timeout,
            known: Known::default(),
            listening: Listening::default(),
        };
        Ok(RedisBackend { shared: Arc::new(shared) })
    }

    fn server(&self) -> Result<Server, BackendError> {
        let place = self.location.place();
        let unusable = |error: RedisError| meaning(&place, Failure::NotConnected(error));
        Ok(match &self.location {
            Location::Server(info) => {
                let client = Client::open(info.clone()).map_err(unusable)?;
                Server::One(match &self.pool {
                    Some(pool) => One::pooled(place, pool.clone(), client, self.wait_replicas),
                    None => One::server(place, client, self.wait_replicas),
                })
            }
            Location::Sentinels(sentinels) => {
                Server::One(One::master(place, sentinels.clone(), self.wait_replicas))
            }
            Location::Cluster(nodes) => Server::Cluster(Cluster::new(place, nodes)?),
        })
    }

    /// A server that expects TLS waits for us to begin, and one that does not waits for the rest of a line.
    fn unmet(&self, error: BackendError) -> BackendError {
        if error.kind() != ErrorKind::Timeout || !self.location.is_secure() {
            return error;
        }
        let message =
            format!("{error}: check whether TLS is spoken there (without it write redis, not rediss)");
        BackendError::new(error.kind(), error.outcome(), message)
    }

    /// Looks whether we are let do all that Simba does, by each primary of a cluster.
    async fn try_out(&self, server: &Server, keys: &Keys) -> Result<(), BackendError> {
        let mut sessions = match server {
            Server::One(_) => Vec::new(),
            Server::Cluster(cluster) => {
                cluster.one_for_each(SessionId::random, |session| key::slot(&keys.session(session)))
            }
        };
        if sessions.is_empty() {
            // One server, or a cluster that nobody tells of: the trial says why.
            sessions.push(SessionId::random());
        }
        for session in sessions {
            // In full and by its hash: these are two permissions.
            for call in [permissions(keys, &session).in_full(), permissions(keys, &session)] {
                let allowed = server.run(Lane::Others, &call, self.call_timeout).await;
                // Whatever became of the trial: it was about nobody's session.
                allowed.map_err(|error| error.with_outcome(Outcome::NotApplied))?;
            }
        }
        Ok(())
    }

    /// Says so if there are fewer replicas than are waited for. They may come back: an application that starts
    /// meanwhile starts, and gets no lease before.
    async fn missing_replicas(&self, server: &Server) -> Result<Option<String>, BackendError> {
        if self.wait_replicas == 0 {
            return Ok(None);
        }
        let mut wait = cmd("WAIT");
        wait.arg(self.wait_replicas)
            .arg(u64::try_from((self.call_timeout / 4).as_millis()).unwrap_or(u64::MAX));
        let reached = server.command(&wait, self.call_timeout).await?;
        if matches!(reached, Value::Int(reached) if reached >= i64::from(self.wait_replicas)) {
            return Ok(None);
        }
        let place = server.place();
        warn!(%place, wait_replicas = self.wait_replicas, "fewer replicas than are waited for");
        Ok(Some(format!(
            "{place} has fewer replicas than the {} that are waited for: until they are back nothing is acquired",
            self.wait_replicas
        )))
    }

    fn mode(&self) -> Mode {
        match self.location {
            Location::Server(_) => Mode::Alone,
            Location::Sentinels(_) => Mode::Sentinel,
            Location::Cluster(_) => Mode::Cluster,
        }
    }

    fn check(&self) -> Result<(), BackendError> {
        if self.call_timeout < Duration::from_millis(10) || self.call_timeout > LONGEST {
            return Err(BackendError::config("the call timeout of a Redis storage is from 10 ms to a day"));
        }
        let is_odd = |c: char| matches!(c, '{' | '}') || c.is_whitespace() || c.is_control();
        if !(1..=LONGEST_PREFIX).contains(&self.prefix.len()) || self.prefix.contains(is_odd) {
            return Err(BackendError::config(format!(
                "the prefix of a Redis storage has from 1 to {LONGEST_PREFIX} characters, no braces and no blanks: \
                 write simba: or the like, not {:?}",
                self.prefix
            )));
        }
        match (self.mode(), self.wait_replicas) {
            (Mode::Cluster, 1..) => Err(BackendError::config(
                "wait_replicas is not available on a cluster: set min-replicas-to-write on its servers instead",
            )),
            (Mode::Cluster, 0) | (Mode::Alone | Mode::Sentinel, _) => Ok(()),
        }
    }
}

/// A call that does once what the scripts do, for nobody's session.
fn permissions(keys: &Keys, session: &SessionId) -> Call {
    let channel = format!("{}lease:{{{session}}}", keys.prefix());
    Call::new(&script::CHECK)
        .key(keys.session(session))
        .key(keys.leases_of(session))
        .key(keys.groups_of(session))
        .arg(channel)
}

impl fmt::Debug for RedisBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisBuilder")
            .field("place", &self.location.place())
            .field("prefix", &self.prefix)
            .field("wait_replicas", &self.wait_replicas)
            .field("call_timeout", &self.call_timeout)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_password_is_shown_nowhere() {
        let builder = RedisBackend::builder("redis://shop:s3cret@cache.example/2").unwrap();
        let client = Client::open("redis://shop:s3cret@cache.example/2").unwrap();
        for builder in [builder, RedisBackend::builder_with_client(&client)] {
            let shown = format!("{builder:?}");
            assert!(shown.contains("redis at cache.example:6379/2") && !shown.contains("s3cret"), "{shown}");
        }
    }

    #[test]
    fn settings_that_cannot_work_are_refused_and_say_what_can() {
        let url = "redis://cache.example";
        let builder = || RedisBackend::builder(url).unwrap();
        for prefix in ["", "a{b}:", "a b", "a\n", &"x".repeat(65)] {
            let error = builder().prefix(prefix).check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{prefix:?}");
        }
        assert!(builder().prefix("shop:simba:").check().is_ok());
        assert!(builder().call_timeout(Duration::from_millis(9)).check().is_err());
        assert!(builder().wait_replicas(1).check().is_ok());
        let error = RedisBackend::builder("redis+cluster://a?wait_replicas=1").unwrap().check().unwrap_err();
        assert!(error.to_string().contains("min-replicas-to-write"), "{error}");
    }

    #[test]
    fn what_is_awaited_can_be_awaited_on_any_thread() {
        fn sends(_: impl Send) {}
        sends(RedisBackend::builder("redis+sentinel://a/main").unwrap().connect());
    }
}
