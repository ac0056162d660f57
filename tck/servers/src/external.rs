//! Servers that run already.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::{APP_PASSWORD, answer::execute, instance::Instance, kit::Kit};

/// The administrator's URL of a server that the tests are to use in place of one of their own.
pub(crate) fn url_of(kit: Kit) -> Option<String> {
    let variable = format!("SIMBA_TCK_{}_URL", kit.name().to_uppercase());
    std::env::var(variable).ok().filter(|url| !url.is_empty())
}

/// Makes a database of its own in such a server. It stays there, since the server may be gone first.
///
/// # Panics
/// If the URL does not lead to an administrator.
pub(crate) async fn database_in(url: &str) -> Instance {
    let database = format!("simba_{}", uuid::Uuid::new_v4().simple());
    let statements = if url.starts_with("mysql:") {
        [
            format!("create database {database}"),
            format!("create user if not exists 'app'@'%' identified by '{APP_PASSWORD}'"),
            format!("grant all on {database}.* to 'app'@'%'"),
        ]
    } else {
        [
            format!(
                "do $$ begin create role app login password '{APP_PASSWORD}';
                exception when duplicate_object or unique_violation then null; end $$"
            ),
            format!("create database {database} owner app"),
            "select 1".into(),
        ]
    };
    let made = execute(url, &statements.each_ref().map(String::as_str)).await;
    made.unwrap_or_else(|error| panic!("no database could be made in the server that was named: {error}"));
    let (before, host) = around_host(url);
    let scheme = before.split_once("://").expect("a URL has a scheme").0;
    Instance {
        address: address_of(url),
        url: format!("{scheme}://app:{APP_PASSWORD}@{host}/{database}"),
        admin_url: format!("{before}{host}/{database}"),
        server: None,
    }
}

/// What stands in front of a URL's host and port, and these two.
pub(crate) fn around_host(url: &str) -> (&str, &str) {
    let start = url.rfind('@').or_else(|| url.find("//").map(|at| at + 1)).expect("the URL has a host") + 1;
    let end = url[start..].find(['/', '?']).map_or(url.len(), |at| start + at);
    (&url[..start], &url[start..end])
}

/// Where a URL leads.
///
/// # Panics
/// If its host has no address.
pub(crate) fn address_of(url: &str) -> SocketAddr {
    let (_, host) = around_host(url);
    let found = host.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.unwrap_or_else(|| panic!("`{host}` is no host with a port"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_with_and_without_what_stands_around_it() {
        for (url, before) in [
            ("mysql://a:b@127.0.0.1:1/d", "mysql://a:b@"),
            ("postgres://127.0.0.1:1?x=y", "postgres://"),
            ("postgres://127.0.0.1:1", "postgres://"),
        ] {
            assert_eq!(around_host(url), (before, "127.0.0.1:1"));
            assert_eq!(address_of(url).port(), 1);
        }
    }
}
