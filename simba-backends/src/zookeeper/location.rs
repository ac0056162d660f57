//! Where the ensemble is: `zookeeper://[user:password@]host[:2181],host,host[/root][?keep_alive=write]`.

use crate::{
    BackendError,
    url::{UrlForm, decoded},
};

const PORT: u16 = 2181;

const FORM: UrlForm = UrlForm {
    storage: "ZooKeeper",
    schemes: &["zookeeper"],
    example: "zookeeper://host:2181,host:2181/root or zookeeper://user:password@host:2181",
    parameters: &["keep_alive"],
};

/// What a URL says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Location {
    /// Each with its port.
    pub(super) hosts: String,
    pub(super) root: Option<String>,
    /// `user:password`.
    pub(super) digest: Option<Vec<u8>>,
    /// Whether keep-alives write.
    pub(super) writes: bool,
}

impl Location {
    /// Reads a URL. No error repeats any part of it that could be a password.
    pub(super) fn parse(url: &str) -> Result<Self, BackendError> {
        FORM.check(url)?;
        let place = url.split_once("://").map_or("", |(_, rest)| rest);
        let (place, parameters) = place.split_once('?').unwrap_or((place, ""));
        if !matches!(parameters, "" | "keep_alive=read" | "keep_alive=write") {
            return Err(BackendError::config(
                "keep_alive in the URL of a ZooKeeper storage is read or write, once",
            ));
        }
        if place.split_once('/').is_some_and(|(_, root)| root.contains(',')) {
            return Err(BackendError::config(
                "the root of a ZooKeeper storage is written once, after all hosts: zookeeper://host,host,host/root",
            ));
        }
        if place.split_once('@').is_some_and(|(login, _)| !login.contains(':') || login.starts_with(':')) {
            return Err(BackendError::config(
                "who logs in to a ZooKeeper storage has a name and a password: write user:password@host",
            ));
        }
        Self::read(place, parameters == "keep_alive=write").ok_or_else(|| FORM.unreadable())
    }

    fn read(place: &str, writes: bool) -> Option<Self> {
        let (authority, root) = place.split_at(place.find('/').unwrap_or(place.len()));
        let (digest, hosts) = match authority.split_once('@') {
            Some((login, hosts)) => {
                let (user, password) = login.split_once(':')?;
                let (user, password) = (decoded(user)?, decoded(password)?);
                // The server takes what is before the first colon for the user.
                if user.is_empty() || user.contains(':') {
                    return None;
                }
                (Some(format!("{user}:{password}").into_bytes()), hosts)
            }
            None => (None, authority),
        };
        let hosts = hosts.split(',').map(host).collect::<Option<Vec<_>>>()?.join(",");
        let root = root.trim_end_matches('/');
        Some(Self { hosts, root: (!root.is_empty()).then(|| root.to_owned()), digest, writes })
    }
}

/// A host with its port.
fn host(text: &str) -> Option<String> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']')?;
            name.parse::<std::net::Ipv6Addr>().ok()?;
            (format!("[{name}]"), if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
        }
        None => {
            let (name, port) = text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)));
            let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
            (name.chars().all(is_host).then(|| name.to_owned())?, port)
        }
    };
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let port = match port {
        Some(port) if is_number(port) => port.parse().ok()?,
        Some(_) => return None,
        None => PORT,
    };
    (!name.is_empty() && port > 0).then(|| format!("{name}:{port}"))
}

/// Whether all nodes can be under that one.
pub(super) fn check_root(root: &str) -> Result<(), BackendError> {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '%' | '?' | '#' | ',');
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && part.chars().all(is_plain);
    let fits = root == "/" || root.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_part));
    let is_reserved = root == "/zookeeper" || root.starts_with("/zookeeper/");
    if fits && !is_reserved {
        return Ok(());
    }
    Err(BackendError::config(format!(
        "the root of a ZooKeeper storage is a path of plain characters, and not ZooKeeper's own: write /simba or the \
         like, not {root:?}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn location(hosts: &str, root: Option<&str>, digest: Option<&str>) -> Location {
        let digest = digest.map(|digest| digest.as_bytes().to_vec());
        Location { hosts: hosts.to_owned(), root: root.map(str::to_owned), digest, writes: false }
    }

    #[test]
    fn a_url_leads_to_an_ensemble() {
        for (url, expected) in [
            ("zookeeper://zk1", location("zk1:2181", None, None)),
            ("zookeeper://zk1:1,zk2,[::1]:3/", location("zk1:1,zk2:2181,[::1]:3", None, None)),
            ("zookeeper://zk1/shop/simba", location("zk1:2181", Some("/shop/simba"), None)),
            ("zookeeper://app:p%2F%40:%25@zk1/x", location("zk1:2181", Some("/x"), Some("app:p/@:%"))),
        ] {
            assert_eq!(Location::parse(url).unwrap(), expected, "{url}");
        }
        let writes = |url| Location::parse(url).unwrap().writes;
        assert!(writes("zookeeper://zk1/x?keep_alive=write") && !writes("zookeeper://zk1?keep_alive=read"));
    }

    #[test]
    fn what_cannot_be_read_is_refused_without_a_word_of_it() {
        for url in [
            "zookeeper:zk1",
            "http://app:hidden@zk1",
            "zookeeper://",
            "zookeeper://hidden@zk1",
            "zookeeper://:hidden@zk1",
            "zookeeper://app:hid/den@zk1",
            "zookeeper://app:hid@den@zk1",
            "zookeeper://app:hidden%zz@zk1",
            "zookeeper://app:hidden@zk1:port",
            "zookeeper://app:hidden@zk1:0",
            "zookeeper://app:hidden@zk1,,zk2",
            "zookeeper://app:hidden@[::1",
            "zookeeper://app:hidden@::1",
            "zookeeper://app:hidden@zk1/x,zk2/x",
            "zookeeper://app:hidden@zk1?timeout=hidden",
            "zookeeper://app:hidden@zk1?keep_alive=hidden",
            "zookeeper://app:hidden@zk1?keep_alive=write&keep_alive=read",
        ] {
            let error = Location::parse(url).expect_err(url);
            assert_eq!(error.kind(), ErrorKind::Config, "{url}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hid") && !shown.contains("den"), "{url}: {shown}");
        }
    }

    #[test]
    fn a_root_is_a_path() {
        for root in ["/", "/simba", "/shop/simba_2.b"] {
            check_root(root).unwrap();
        }
        for root in [
            "",
            "simba",
            "/simba/",
            "//",
            "/a//b",
            "/a/../b",
            "/a b",
            "/\u{1f600}",
            "/zookeeper",
            "/zookeeper/x",
        ] {
            assert_eq!(check_root(root).unwrap_err().kind(), ErrorKind::Config, "{root}");
        }
    }
}
