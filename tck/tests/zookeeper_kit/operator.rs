//! Somebody at ZooKeeper who knows nothing of Simba.

use std::time::Duration;

use zookeeper_client::{Acl, Acls, Client, CreateMode, Error, Stat};

/// A client of the administrator's, whom no ACL keeps from anything.
pub(crate) struct Operator(pub(crate) Client);

impl Operator {
    /// At these hosts, logged in as the URL says.
    pub(crate) async fn at(hosts: &str, admin_url: &str) -> Self {
        let (_, rest) = admin_url.split_once("://").unwrap();
        let (login, _) = rest.split_once('@').unwrap();
        Self::logged_in(hosts, login).await
    }

    /// As somebody: `user:password`.
    pub(crate) async fn logged_in(hosts: &str, login: &str) -> Self {
        let connector = Client::connector().with_session_timeout(Duration::from_secs(10));
        Self(connector.with_auth("digest", login.as_bytes()).connect(hosts).await.unwrap())
    }

    /// Makes a node, and its parents where they are missing. Everybody may do everything with them.
    pub(crate) async fn create(&self, path: &str, mode: CreateMode, data: &[u8]) -> Stat {
        self.create_for(path, mode, data, Acls::anyone_all()).await
    }

    pub(crate) async fn create_for(&self, path: &str, mode: CreateMode, data: &[u8], acls: Acls<'_>) -> Stat {
        let parent = path.rsplit_once('/').unwrap().0;
        if !parent.is_empty() {
            let options = CreateMode::Persistent.with_acls(Acls::anyone_all());
            self.0.mkdir(parent, &options).await.unwrap();
        }
        self.0.create(path, data, &mode.with_acls(acls)).await.unwrap().0
    }

    /// Its data, and what is known of it.
    pub(crate) async fn get(&self, path: &str) -> Option<(Vec<u8>, Stat)> {
        match self.0.get_data(path).await {
            Ok(found) => Some(found),
            Err(Error::NoNode) => None,
            Err(failure) => panic!("{path}: {failure}"),
        }
    }

    /// Whether it was there.
    pub(crate) async fn delete(&self, path: &str) -> bool {
        match self.0.delete(path, None).await {
            Ok(()) => true,
            Err(Error::NoNode) => false,
            Err(failure) => panic!("{path}: {failure}"),
        }
    }

    /// Names of the nodes in one, in order; none if it is not there.
    pub(crate) async fn children(&self, path: &str) -> Vec<String> {
        self.0.sync(path).await.unwrap();
        let mut children = match self.0.list_children(path).await {
            Ok(children) => children,
            Err(Error::NoNode) => Vec::new(),
            Err(failure) => panic!("{path}: {failure}"),
        };
        children.sort();
        children
    }

    pub(crate) async fn acl(&self, path: &str) -> Vec<Acl> {
        self.0.get_acl(path).await.unwrap().0
    }

    pub(crate) async fn set_acl(&self, path: &str, acls: Acls<'_>) {
        self.0.set_acl(path, &acls, None).await.unwrap();
    }
}
