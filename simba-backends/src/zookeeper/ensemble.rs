//! Making clients of the ensemble.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};
use zookeeper_client::{Acl, Acls, Client, Connector, CreateMode, Error};

use super::error;
use crate::BackendError;

/// How often all hosts are tried, and how long to wait in between. Of logins with TLS two in five fail on a busy machine.
const TRIES: u32 = 12;
const PAUSE: Duration = Duration::from_millis(20);

/// A server that collects its garbage is silent for that long.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// How to connect, as whom, and what the nodes that are made may be used for.
#[derive(Clone)]
pub(super) struct Ensemble {
    /// `host:port,host:port`.
    pub(super) hosts: String,
    /// Each a scheme and its credentials.
    pub(super) logins: Vec<(String, Vec<u8>)>,
    pub(super) access: Access,
    /// How long a session may take to open.
    pub(super) connection_timeout: Duration,
    #[cfg(feature = "zookeeper-tls")]
    pub(super) tls: Option<zookeeper_client::TlsOptions>,
    #[cfg(feature = "zookeeper-sasl")]
    pub(super) sasl: Option<zookeeper_client::SaslOptions>,
}

/// The ACL of a node that is made.
#[derive(Clone)]
pub(super) enum Access {
    /// The creator's alone once there are credentials, else everybody's.
    Automatic,
    Provided(Provider),
}

/// Says which ACL the node at a path gets.
pub(super) type Provider = Arc<dyn Fn(&str) -> Vec<Acl> + Send + Sync>;

impl Ensemble {
    pub(super) fn new(hosts: String) -> Self {
        Self {
            hosts,
            logins: Vec::new(),
            access: Access::Automatic,
            connection_timeout: Duration::from_secs(10),
            #[cfg(feature = "zookeeper-tls")]
            tls: None,
            #[cfg(feature = "zookeeper-sasl")]
            sasl: None,
        }
    }

    /// Opens a session of ZooKeeper with that time-out, or what the ensemble makes of it, within that time.
    pub(super) async fn client(
        &self,
        place: &str,
        session_timeout: Duration,
        within: Duration,
    ) -> Result<Client, BackendError> {
        let within = within.min(self.connection_timeout);
        let patience = self.patience(session_timeout, within);
        let connected = timeout(within, self.try_some_times(session_timeout, patience)).await;
        let connected = connected.unwrap_or(Err(Error::Timeout));
        connected.map_err(|failure| error::unconnected(place, failure))
    }

    /// Tries every host, and all of them again: a server that serves TLS may answer a login before it answers who logs
    /// in, which the driver cannot read (seen with ZooKeeper 3.8).
    async fn try_some_times(&self, session_timeout: Duration, patience: Duration) -> Result<Client, Error> {
        for _ in 1..TRIES {
            match self.connect(self.connector(session_timeout, patience)).await {
                Err(Error::NoHosts) => sleep(PAUSE).await,
                done => return done,
            }
        }
        self.connect(self.connector(session_timeout, patience)).await
    }

    fn connector(&self, session_timeout: Duration, patience: Duration) -> Connector {
        let connector = Client::connector()
            .with_session_timeout(session_timeout)
            .with_connection_timeout(patience)
            .with_fail_eagerly();
        let connector = self
            .logins
            .iter()
            .fold(connector, |connector, (scheme, credentials)| connector.with_auth(scheme, credentials));
        #[cfg(feature = "zookeeper-sasl")]
        let connector = match &self.sasl {
            Some(options) => connector.with_sasl(options.clone()),
            None => connector,
        };
        connector
    }

    /// How long a server may be silent before it is left for the next one: early enough for the session to outlast it,
    /// and for all others to be tried in that time. It stays so for as long as the client lives, so that it is never
    /// less than a busy server may take.
    fn patience(&self, session_timeout: Duration, within: Duration) -> Duration {
        let hosts = self.hosts.bytes().filter(|byte| *byte == b',').count() + 1;
        let share = within / u32::try_from(hosts).unwrap_or(u32::MAX);
        (session_timeout / 3).min(share.max(LEAST_PATIENCE))
    }

    #[cfg(feature = "zookeeper-tls")]
    async fn connect(&self, connector: Connector) -> Result<Client, Error> {
        match &self.tls {
            Some(options) => connector.with_tls(options.clone()).secure_connect(&self.hosts).await,
            None => connector.connect(&self.hosts).await,
        }
    }

    #[cfg(not(feature = "zookeeper-tls"))]
    async fn connect(&self, connector: Connector) -> Result<Client, Error> {
        connector.connect(&self.hosts).await
    }

    /// Whether clients are known by more than their address.
    pub(super) fn logs_in(&self) -> bool {
        #[cfg(feature = "zookeeper-sasl")]
        if self.sasl.is_some() {
            return true;
        }
        !self.logins.is_empty()
    }

    /// Calls with the options for a node of that kind at that path.
    pub(super) fn with_options<T>(
        &self,
        path: &str,
        mode: CreateMode,
        call: impl FnOnce(&zookeeper_client::CreateOptions<'_>) -> T,
    ) -> T {
        match &self.access {
            Access::Automatic if self.logs_in() => call(&mode.with_acls(Acls::creator_all())),
            Access::Automatic => call(&mode.with_acls(Acls::anyone_all())),
            Access::Provided(provider) => call(&mode.with_acls(Acls::new(&provider(path)))),
        }
    }
}

impl fmt::Debug for Ensemble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ensemble").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(hosts: &str, session_timeout: u64, within: u64) -> Duration {
        let seconds = Duration::from_secs;
        Ensemble::new(hosts.to_owned()).patience(seconds(session_timeout), seconds(within))
    }

    #[test]
    fn a_silent_server_leaves_time_for_the_others() {
        assert_eq!(patience("a:1,b:1", 60, 10), Duration::from_secs(5));
        assert_eq!(patience("a:1,b:1", 9, 10), Duration::from_secs(3), "the session outlasts two of them");
        assert_eq!(patience("a:1", 60, 10), Duration::from_secs(10));
        assert_eq!(patience("a:1,b:1,c:1", 60, 1), LEAST_PATIENCE, "a link lasts longer than its making");
    }
}
