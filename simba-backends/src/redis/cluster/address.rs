//! Where a node listens.

use std::{fmt, sync::Arc};

use redis::{ConnectionAddr, ConnectionInfo};

/// A node's host and port, as the cluster announces it: the name that it goes by here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    host: Arc<str>,
    port: u16,
}

impl Address {
    pub(super) fn new(host: &str, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    /// That of a server reached by TCP.
    pub(super) fn of(info: &ConnectionInfo) -> Option<Self> {
        let (ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }) = info.addr()
        else {
            return None;
        };
        Some(Self::new(host, *port))
    }

    /// Reads `host:port` out of a redirection. An empty host means the one that was asked; `?` is one that the
    /// node does not know.
    pub(super) fn parse(text: &str, asked: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        match host {
            "" => Some(Self::new(asked, port)),
            "?" => None,
            host => Some(Self::new(host, port)),
        }
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The settings of `first` with this host and port.
    pub(super) fn reached_like(&self, first: &ConnectionInfo) -> ConnectionInfo {
        let mut addr = first.addr().clone();
        // The others are refused as seeds.
        if let ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } = &mut addr {
            self.host.as_ref().clone_into(host);
            *port = self.port;
        }
        first.clone().set_addr(addr)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use redis::IntoConnectionInfo;

    use super::*;

    #[test]
    fn a_redirection_names_a_host_or_means_the_one_that_was_asked() {
        let parse = |text| Address::parse(text, "asked");
        assert_eq!(parse("10.0.0.1:7000"), Some(Address::new("10.0.0.1", 7000)));
        assert_eq!(parse("n1.example.org:7000"), Some(Address::new("n1.example.org", 7000)));
        assert_eq!(parse("::1:7000"), Some(Address::new("::1", 7000)));
        assert_eq!(parse(":7000"), Some(Address::new("asked", 7000)));
        assert_eq!(parse("?:7000"), None);
        assert_eq!(parse("7000"), None);
        assert_eq!(parse("a:seven"), None);
    }

    #[test]
    fn a_node_is_reached_with_the_settings_of_the_first_seed() {
        let seed = "rediss://app:secret@seed:6379/".into_connection_info().unwrap();
        let info = Address::new("::1", 7001).reached_like(&seed);
        assert_eq!(info.redis_settings().password(), Some("secret"));
        assert!(matches!(
            info.addr(),
            ConnectionAddr::TcpTls { host, port: 7001, insecure: false, .. } if host == "::1"
        ));
        assert_eq!(Address::of(&info).unwrap().to_string(), "[::1]:7001");
    }
}
