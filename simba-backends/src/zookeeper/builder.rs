//! Setting up the storage.

use std::{fmt, sync::Arc, time::Duration};

use tracing::warn;
use zookeeper_client::Acl;

use super::{
    Confirmation, READING, Shared, ZooKeeperBackend,
    ensemble::{Access, Ensemble},
    listen::Listening,
    live::Sessions,
    location::{Location, check_root},
    paths::Paths,
    permission,
};
use crate::BackendError;

/// Nobody waits that long.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The settings of a [`ZooKeeperBackend`].
#[derive(Clone)]
pub struct ZooKeeperBuilder {
    ensemble: Ensemble,
    root: String,
    call_timeout: Duration,
    confirmation: Confirmation,
}

impl ZooKeeperBuilder {
    pub(super) fn from_url(url: &str) -> Result<Self, BackendError> {
        let written = Location::parse(url)?;
        let mut ensemble = Ensemble::new(written.hosts);
        ensemble.logins.extend(written.digest.map(|digest| ("digest".to_owned(), digest)));
        let root = written.root.unwrap_or_else(|| "/simba".to_owned());
        let confirmation = if written.writes { Confirmation::Write } else { Confirmation::Read };
        Ok(Self { ensemble, root, call_timeout: Duration::from_secs(2), confirmation })
    }

    /// Sets the node that all others are under, `/simba` unless set. Only nodes with the same root know of each other.
    #[must_use]
    pub fn root(mut self, root: impl Into<String>) -> Self {
        self.root = root.into();
        self
    }

    /// Logs every client in, `digest` with `user:password` for one. Several logins add up.
    #[must_use]
    pub fn auth(mut self, scheme: impl Into<String>, credentials: impl Into<Vec<u8>>) -> Self {
        self.ensemble.logins.push((scheme.into(), credentials.into()));
        self
    }

    /// Sets the ACL of every node that Simba makes, by its path. Unless set, the creator alone may do everything once
    /// there are credentials (`CREATOR_ALL`), and everybody may without any (`OPEN`).
    ///
    /// Of nodes that exist the ACL is not changed. Leave create and delete on `leases`, `groups/GROUP` and `sessions`,
    /// and read on what is in them, to every process that uses them, and write on its own node in `sessions` to each.
    #[must_use]
    pub fn acl(mut self, provider: impl Fn(&str) -> Vec<Acl> + Send + Sync + 'static) -> Self {
        self.ensemble.access = Access::Provided(Arc::new(provider));
        self
    }

    /// Connects with TLS, with these options. The first to do so makes ring the process's provider of cryptography,
    /// unless the process has chosen one itself.
    #[cfg(feature = "zookeeper-tls")]
    #[must_use]
    pub fn tls(mut self, options: zookeeper_client::TlsOptions) -> Self {
        self.ensemble.tls = Some(options);
        self
    }

    /// Logs every client in by SASL, with these options.
    #[cfg(feature = "zookeeper-sasl")]
    #[must_use]
    pub fn sasl(mut self, options: impl Into<zookeeper_client::SaslOptions>) -> Self {
        self.ensemble.sasl = Some(options.into());
        self
    }

    /// Sets how long a call waits for its answer. 2 s unless set; at most the renew interval, after which the engine
    /// gives up on a call anyway.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Lets each keep-alive write one small node, which a quorum commits, where it reads else.
    ///
    /// A `sync` is answered by the leader alone. One that was cut off from the others goes on answering until it has
    /// missed them for `syncLimit` ticks; if they found out before, and chose another leader, then for that long whoever is
    /// connected to the old one may trust a session that the new one has ended. That takes links that break on one side
    /// only, or leases of few ticks. Writing costs one transaction a keep-alive, whatever the number of leases.
    #[must_use]
    pub fn write_keep_alives(mut self) -> Self {
        self.confirmation = Confirmation::Write;
        self
    }

    /// Sets how long opening a session may take, 10 s unless set. A lease bounds it, too. A server that does not answer
    /// has its share of it, or a third of the lease if that is less, before the next one is asked.
    #[must_use]
    pub fn connection_timeout(mut self, timeout: Duration) -> Self {
        self.ensemble.connection_timeout = timeout;
        self
    }

    /// Connects, makes the parents of all nodes where they are missing, and looks whether we may do all that Simba
    /// does.
    ///
    /// Nodes that everybody may change are logged as a warning.
    ///
    /// # Errors
    /// [`Config`](crate::ErrorKind::Config) for a setting that cannot work,
    /// [`Unauthorized`](crate::ErrorKind::Unauthorized) (the message names the node),
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for nodes of somebody else,
    /// [`Unavailable`](crate::ErrorKind::Unavailable) and [`Timeout`](crate::ErrorKind::Timeout).
    ///
    /// # Cancel safety
    /// A dropped call may leave parents behind.
    pub async fn connect(self) -> Result<ZooKeeperBackend, BackendError> {
        self.check()?;
        #[cfg(feature = "zookeeper-tls")]
        if self.ensemble.tls.is_some() {
            crate::tls::choose_provider();
        }
        let paths = Paths::new(&self.root);
        let root = if self.root == "/" { "" } else { &*self.root };
        let mut shared = Shared {
            place: format!("zookeeper at {}{root}", self.ensemble.hosts),
            warnings: Vec::new(),
            ensemble: self.ensemble,
            paths,
            call_timeout: self.call_timeout,
            confirmation: self.confirmation,
            sessions: Sessions::default(),
            listening: Listening::default(),
        };
        let client = shared.ensemble.client(&shared.place, READING, Duration::MAX).await?;
        let open = permission::check(&shared, &client).await?;
        if !open.is_empty() {
            let warning = format!(
                "everybody who can reach {} may change the nodes in {}: log in (user:password in the URL) with a root \
                 that does not exist yet, so that its nodes belong to Simba alone, or set their ACL",
                shared.place,
                open.join(", ")
            );
            warn!("{warning}");
            shared.warnings.push(warning);
        }
        Ok(ZooKeeperBackend { shared: Arc::new(shared) })
    }

    fn check(&self) -> Result<(), BackendError> {
        check_root(&self.root)?;
        for (what, timeout) in [("call", self.call_timeout), ("connection", self.ensemble.connection_timeout)]
        {
            if timeout < Duration::from_millis(10) || timeout > LONGEST {
                return Err(BackendError::config(format!(
                    "the {what} timeout of a ZooKeeper storage is from 10 ms to a day"
                )));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ZooKeeperBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZooKeeperBuilder")
            .field("hosts", &self.ensemble.hosts)
            .field("root", &self.root)
            .field("call_timeout", &self.call_timeout)
            .field("connection_timeout", &self.ensemble.connection_timeout)
            .field("confirmation", &self.confirmation)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_password_is_shown_nowhere() {
        let builder = ZooKeeperBackend::builder("zookeeper://app:s3cret@zk1,zk2/x").unwrap();
        let shown = format!("{:?}", builder.auth("digest", "other:s3cret"));
        assert!(shown.contains("zk1:2181,zk2:2181") && !shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let builder = || ZooKeeperBackend::builder("zookeeper://zk1").unwrap();
        assert!(builder().check().is_ok());
        for wrong in [
            builder().root("simba"),
            builder().call_timeout(Duration::from_millis(9)),
            builder().connection_timeout(LONGEST * 2),
        ] {
            assert_eq!(wrong.check().unwrap_err().kind(), ErrorKind::Config, "{wrong:?}");
        }
    }

    #[test]
    fn what_is_awaited_can_be_awaited_on_any_thread() {
        fn sends(_: impl Send) {}
        sends(ZooKeeperBackend::builder("zookeeper://a").unwrap().connect());
    }
}
