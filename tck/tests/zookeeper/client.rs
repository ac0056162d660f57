//! One session and its calls, each answered or refused.

use std::time::Duration;

use simba_backends::{
    Acquired, Acquisition, BackendError, GroupName, KeepAlive, LeaseBackend, LeaseName, Metadata, Outcome,
    Release, SessionId, Token, zookeeper::ZooKeeperBackend,
};

/// No test outlives it.
pub(crate) const LONG: Duration = Duration::from_secs(600);

/// What must be refused at once is not tried again: it takes less than any time-out.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(3);

pub(crate) struct Client {
    pub(crate) backend: ZooKeeperBackend,
    pub(crate) session: SessionId,
}

impl Client {
    pub(crate) async fn open(backend: ZooKeeperBackend) -> Self {
        let opened = backend.open_session(LONG, &Metadata::default()).await;
        Self { session: opened.unwrap_or_else(|error| panic!("{error:?}")).session, backend }
    }

    pub(crate) async fn acquire(&self, name: &LeaseName) -> Acquisition {
        match self.backend.acquire(&self.session, std::slice::from_ref(name)).await {
            Ok(Acquired::Answers(mut answers)) => answers.remove(0).1,
            other => panic!("{name}: {other:?}"),
        }
    }

    pub(crate) async fn granted(&self, name: &LeaseName) -> Token {
        let answer = self.acquire(name).await;
        let Acquisition::Granted { token, .. } = answer else { panic!("{name} is free: {answer:?}") };
        token
    }

    pub(crate) async fn not_acquired(&self, name: &LeaseName) -> BackendError {
        let answer = at_once(self.acquire(name)).await;
        let Acquisition::Failed(error) = answer else { panic!("{name}: {answer:?}") };
        error
    }

    pub(crate) async fn release(&self, name: &LeaseName, token: Token) -> Release {
        let released = self.backend.release(&self.session, &[(name.clone(), token)]).await;
        released.unwrap_or_else(|error| panic!("{error:?}")).remove(0).1
    }

    /// What it holds.
    pub(crate) async fn owned(&self) -> Vec<(LeaseName, Token)> {
        match self.backend.keep_alive(&self.session, LONG).await {
            Ok(KeepAlive::Live { mut owned, .. }) => {
                owned.sort();
                owned
            }
            other => panic!("{}: {other:?}", self.session),
        }
    }
}

/// Uses all that Simba does.
pub(crate) async fn serves(backend: ZooKeeperBackend) {
    let client = Client::open(backend).await;
    let (n, g) = (name("served"), group("served"));
    let token = client.granted(&n).await;
    client.backend.join(&client.session, &g).await.unwrap();
    assert_eq!(client.owned().await, [(n.clone(), token)]);
    assert_eq!(client.backend.inspect(&n).await.unwrap().unwrap().session, client.session);
    assert_eq!(client.backend.members(&g).await.unwrap()[0].session, client.session);
    assert!(matches!(client.release(&n, token).await, Release::Gone));
    client.backend.leave(&client.session, &g).await.unwrap();
    client.backend.close_session(&client.session).await.unwrap();
}

/// An answer that takes no time-out.
pub(crate) async fn at_once<T>(answer: impl Future<Output = T>) -> T {
    let answered = tokio::time::timeout(AT_ONCE, answer).await;
    answered.expect("it is answered at once")
}

/// That an error says that nothing was done, and about which node.
pub(crate) fn names(error: &BackendError, path: &str) {
    assert_eq!(error.outcome(), Outcome::NotApplied, "{error:?}");
    let text = error.to_string();
    let is_named = text.match_indices(path).any(|(at, _)| {
        let next = text[at + path.len()..].chars().next();
        next.is_none_or(|next| !next.is_ascii_alphanumeric() && next != '/')
    });
    assert!(is_named, "{path} is not named: {error}");
}

pub(crate) fn name(text: &str) -> LeaseName {
    text.parse().unwrap()
}

pub(crate) fn group(text: &str) -> GroupName {
    text.parse().unwrap()
}
