//! Where the server is: a `redis:` URL in one of its shapes.
//!
//! ```text
//! redis://[user:password@]host[:6379][/database]
//! redis+sentinel://[user:password@]host[:26379],host,host/MASTER[/database]
//! redis+cluster://[user:password@]host[:6379],host,host
//! ```
//! With `rediss` in place of `redis` all connections are made with TLS.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo};

use crate::{
    BackendError,
    url::{UrlForm, decoded},
};

const REDIS_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26_379;

const SERVER: UrlForm = UrlForm {
    storage: "Redis",
    schemes: &["redis", "rediss"],
    example: "redis://user:password@host:6379/0, redis+sentinel://user:password@host:26379,host:26379/MASTER or \
              redis+cluster://user:password@host:6379,host:6379 (rediss for TLS)",
    parameters: &["prefix", "wait_replicas"],
};

const SENTINEL: UrlForm = UrlForm {
    storage: "Redis Sentinel",
    schemes: &["redis+sentinel", "rediss+sentinel"],
    example: "redis+sentinel://user:password@host:26379,host:26379/MASTER",
    parameters: &["prefix", "wait_replicas", "sentinel_user", "sentinel_password"],
};

const CLUSTER: UrlForm = UrlForm {
    storage: "Redis Cluster",
    schemes: &["redis+cluster", "rediss+cluster"],
    example: "redis+cluster://user:password@host:6379,host:6379",
    parameters: &["prefix", "wait_replicas"],
};

/// The servers to talk to, and as whom.
#[derive(Clone)]
pub(super) enum Location {
    Server(ConnectionInfo),
    Sentinels(Sentinels),
    Cluster(Vec<ConnectionInfo>),
}

/// A master that is found by asking.
#[derive(Clone)]
pub(super) struct Sentinels {
    /// What they call it.
    pub(super) master: String,
    /// Each on its own.
    pub(super) sentinels: Vec<ConnectionInfo>,
    /// How to connect to the master, wherever it is: its address is to be put in.
    pub(super) server: ConnectionInfo,
}

/// What a URL says.
pub(super) struct Written {
    pub(super) location: Location,
    pub(super) prefix: Option<String>,
    pub(super) wait_replicas: Option<u32>,
}

impl Location {
    /// Reads a URL. No error repeats any part of it that could be a password.
    pub(super) fn parse(url: &str) -> Result<Written, BackendError> {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        let form = [&SENTINEL, &CLUSTER].into_iter().find(|form| form.schemes.contains(&scheme));
        let form = form.unwrap_or(&SERVER);
        form.check(url)?;
        if let Some(credentials) = url.split_once("://").and_then(|(_, rest)| rest.split_once('@'))
            && !credentials.0.contains(':')
        {
            // It would be let in as nobody.
            return Err(BackendError::config(
                "a user in the URL of a Redis storage has a password: write user:password@host",
            ));
        }
        Parts::of(url).and_then(|parts| parts.written(form)).ok_or_else(|| form.unreadable())?
    }

    /// The one server that a client connects to.
    pub(super) fn of_client(client: &redis::Client) -> Self {
        Self::Server(ours(client.get_connection_info().clone()))
    }

    /// The servers' names, without a secret.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Server(server) => match server.redis_settings().db() {
                0 => format!("redis at {}", shown(server.addr())),
                database => format!("redis at {}/{database}", shown(server.addr())),
            },
            Self::Sentinels(Sentinels { master, sentinels, .. }) => {
                format!("redis master {master:?} of sentinels {}", addresses(sentinels))
            }
            Self::Cluster(nodes) => format!("redis cluster at {}", addresses(nodes)),
        }
    }

    /// Whether connections are made with TLS.
    pub(super) fn is_secure(&self) -> bool {
        let server = match self {
            Self::Server(server) | Self::Sentinels(Sentinels { server, .. }) => Some(server),
            Self::Cluster(nodes) => nodes.first(),
        };
        server.is_some_and(|server| matches!(server.addr(), ConnectionAddr::TcpTls { .. }))
    }
}

fn addresses(servers: &[ConnectionInfo]) -> String {
    servers.iter().map(|server| shown(server.addr())).collect::<Vec<_>>().join(", ")
}

/// As in a URL.
pub(super) fn shown(address: &ConnectionAddr) -> String {
    if let ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } = address
        && host.contains(':')
    {
        return format!("[{host}]:{port}");
    }
    address.to_string()
}

/// How a host is reached.
#[derive(Clone, Copy)]
enum Link {
    Plain,
    Tls,
}

/// A URL in its parts. Only what has been decoded is decoded.
struct Parts<'a> {
    link: Link,
    user: Option<&'a str>,
    password: Option<&'a str>,
    hosts: &'a str,
    path: Vec<String>,
    parameters: Vec<(&'a str, String)>,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, hosts) = match authority.split_once('@') {
            Some((credentials, hosts)) => (Some(credentials), hosts),
            None => (None, authority),
        };
        let (user, password) = match credentials {
            Some(credentials) => {
                let (user, password) = credentials.split_once(':')?;
                (Some(user).filter(|user| !user.is_empty()), Some(password))
            }
            None => (None, None),
        };
        let path = path.trim_end_matches('/');
        let path =
            if path.is_empty() { Vec::new() } else { path.split('/').map(decoded).collect::<Option<_>>()? };
        let parameters = query.split('&').filter(|part| !part.is_empty());
        let parameters = parameters.map(|part| {
            let (name, value) = part.split_once('=')?;
            Some((name, decoded(value)?))
        });
        let link = if scheme.starts_with("rediss") { Link::Tls } else { Link::Plain };
        Some(Self { link, user, password, hosts, path, parameters: parameters.collect::<Option<_>>()? })
    }

    /// `None` where something cannot be read, an error of its own where a setting cannot work.
    fn written(&self, form: &UrlForm) -> Option<Result<Written, BackendError>> {
        let location = match form.schemes {
            ["redis", ..] => self.server()?,
            ["redis+sentinel", ..] => self.sentinels()?,
            _ => self.cluster()?,
        };
        let wait_replicas = match self.parameter("wait_replicas") {
            Some(replicas) => match replicas.parse() {
                Ok(replicas) => Some(replicas),
                Err(_) => {
                    return Some(Err(BackendError::config(
                        "wait_replicas in the URL of a Redis storage is a number of replicas, 0 for none",
                    )));
                }
            },
            None => None,
        };
        let prefix = self.parameter("prefix").map(str::to_owned);
        Some(Ok(Written { location, prefix, wait_replicas }))
    }

    fn server(&self) -> Option<Location> {
        let database = match &*self.path {
            [] => 0,
            [database] => number(database)?,
            _ => return None,
        };
        let settings = self.settings()?.set_db(database);
        match &*self.addresses(REDIS_PORT)? {
            [address] => info(address.clone(), settings).map(Location::Server),
            _ => None,
        }
    }

    fn sentinels(&self) -> Option<Location> {
        let (master, database) = match &*self.path {
            [master] => (master, 0),
            [master, database] => (master, number(database)?),
            _ => return None,
        };
        let is_name = !master.is_empty() && !master.contains(|c: char| c.is_control() || c.is_whitespace());
        let sentinels = self.addresses(SENTINEL_PORT)?;
        let server = info(sentinels.first()?.clone(), self.settings()?.set_db(database))?;
        let asked_as = credentials(self.parameter("sentinel_user"), self.parameter("sentinel_password"))?;
        let sentinels = sentinels.into_iter().map(|address| info(address, asked_as.clone()));
        let sentinels = sentinels.collect::<Option<_>>()?;
        is_name.then(|| Location::Sentinels(Sentinels { master: master.clone(), sentinels, server }))
    }

    fn cluster(&self) -> Option<Location> {
        match &*self.path {
            [] => {}
            // A cluster has only this one.
            [database] if database == "0" => {}
            _ => return None,
        }
        let settings = self.settings()?;
        let nodes = self.addresses(REDIS_PORT)?.into_iter().map(|address| info(address, settings.clone()));
        Some(Location::Cluster(nodes.collect::<Option<_>>()?))
    }

    fn settings(&self) -> Option<RedisConnectionInfo> {
        let user = self.user.map(decoded);
        let password = self.password.map(decoded);
        if user == Some(None) || password == Some(None) {
            return None;
        }
        credentials(user.flatten().as_deref(), password.flatten().as_deref())
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| *known == name).map(|(_, value)| &**value)
    }

    fn addresses(&self, port: u16) -> Option<Vec<ConnectionAddr>> {
        self.hosts.split(',').map(|host| address(host, port, self.link)).collect()
    }
}

fn credentials(user: Option<&str>, password: Option<&str>) -> Option<RedisConnectionInfo> {
    let settings = RedisConnectionInfo::default();
    match (user, password) {
        (None, None) => Some(settings),
        (None, Some(password)) => Some(settings.set_password(password)),
        (Some(user), Some(password)) => Some(settings.set_username(user).set_password(password)),
        (Some(_), None) => None,
    }
}

fn info(address: ConnectionAddr, settings: RedisConnectionInfo) -> Option<ConnectionInfo> {
    Some(ours(address.into_connection_info().ok()?.set_redis_settings(settings)))
}

/// As our connections are: calls share one, so that none may wait for the answer to another; and with RESP3 the
/// server's own words reach us when it refuses a connection, and its farewell when it closes one.
fn ours(info: ConnectionInfo) -> ConnectionInfo {
    let tcp = info.tcp_settings().clone().set_nodelay(true);
    let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
    info.set_tcp_settings(tcp).set_redis_settings(settings)
}

fn address(text: &str, default_port: u16, link: Link) -> Option<ConnectionAddr> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        (host, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
    } else {
        let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        (host.chars().all(is_host).then_some(host)?, port)
    };
    let port = match port {
        Some(port) => number(port)?,
        None => default_port,
    };
    if host.is_empty() || port == 0 {
        return None;
    }
    let host = host.to_owned();
    Some(match link {
        Link::Plain => ConnectionAddr::Tcp(host, port),
        Link::Tls => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
    })
}

/// Digits only: no sign, no blank.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_url_leads_to_a_place_that_shows_no_password() {
        for (url, expected) in [
            ("redis://db.example", "redis at db.example:6379"),
            ("redis://:s3cret@db.example:7000/2", "redis at db.example:7000/2"),
            ("rediss://app:s3cret@[::1]:7000/", "redis at [::1]:7000"),
            (
                "redis+sentinel://app:s3cret@a:1,b/orders?sentinel_password=s3cret&sentinel_user=s",
                "redis master \"orders\" of sentinels a:1, b:26379",
            ),
            ("rediss+cluster://app:s3cret@a,b:7001", "redis cluster at a:6379, b:7001"),
        ] {
            let written = Location::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(written.location.place(), expected);
            assert_eq!(written.location.is_secure(), url.starts_with("rediss"), "{url}");
        }
    }

    #[test]
    fn credentials_go_to_whom_they_belong() {
        let url = "redis+sentinel://app:p%2F%40%25@a/main/3?sentinel_password=q%26&prefix=x:&wait_replicas=2";
        let written = Location::parse(url).unwrap();
        assert_eq!((written.prefix.as_deref(), written.wait_replicas), (Some("x:"), Some(2)));
        let Location::Sentinels(found) = written.location else { panic!("{url}") };
        let server = found.server.redis_settings();
        assert_eq!((server.username(), server.password(), server.db()), (Some("app"), Some("p/@%"), 3));
        let sentinel = found.sentinels[0].redis_settings();
        assert_eq!((sentinel.username(), sentinel.password(), sentinel.db()), (None, Some("q&"), 0));
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_a_word_of_it() {
        for url in [
            "redis:db.example",
            "http://app:hidden@db.example",
            "redis+unix:///hidden",
            "redis://",
            "redis://:hidden",
            "redis://hidden@db.example",
            "redis://app:hid/den@db.example",
            "redis://app:hid#den@db.example",
            "redis://app:hid?den@db.example",
            "redis://app:hid@den@db.example",
            "redis://app:hid/den",
            "redis://app:hidden%zz@db.example",
            "redis://app:hidden%@db.example",
            "redis://app:hidden@db.example:port",
            "redis://app:hidden@db.example:0",
            "redis://app:hidden@db.example:+1",
            "redis://app:hidden@db.example/-1",
            "redis://app:hidden@db.example/1/2",
            "redis://app:hidden@a,b",
            "redis://app:hidden@[::1",
            "redis://app:hidden@::1",
            "redis://app:hidden@db.example?protocol=3",
            "redis://app:hidden@db.example?sentinel_password=hidden",
            "redis://app:hidden@db.example?wait_replicas=hidden",
            "redis://app:hidden@db.example?prefix",
            "redis+sentinel://app:hidden@a,b",
            "redis+sentinel://app:hidden@a,,b/main",
            "redis+sentinel://a/main?sentinel_user=hidden",
            "redis+cluster://app:hidden@a/1",
        ] {
            let Err(error) = Location::parse(url) else { panic!("{url}") };
            assert_eq!(error.kind(), ErrorKind::Config, "{url}");
            let shown = format!("{error} {error:?} {:?}", std::error::Error::source(&error));
            for part in ["hid", "den"] {
                assert!(!shown.contains(part), "{url}: {shown}");
            }
        }
    }
}
