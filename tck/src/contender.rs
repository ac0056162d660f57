//! One session of a test and what it sees.

use std::{collections::BTreeMap, future::Future, sync::Arc, time::Duration};

use simba_backends::{
    Acquired, Acquisition, GroupName, Holder, Joined, KeepAlive, LeaseBackend, LeaseName, Member, Metadata,
    Release, SessionId, SessionScope, Token,
};
use tokio::task::JoinSet;

use crate::Fixture;

/// A session as one process would have it: every verb asserts that the call itself did not fail.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    pub(crate) backend: Arc<dyn LeaseBackend>,
    pub(crate) session: SessionId,
    pub(crate) lease: Duration,
}

/// What a keep-alive answered for a live session.
#[derive(Debug)]
pub(crate) struct Alive {
    pub(crate) remaining: Duration,
    pub(crate) owned: Vec<(LeaseName, Token)>,
    pub(crate) unknown: Vec<LeaseName>,
    pub(crate) groups: Vec<GroupName>,
    pub(crate) server_elapsed: Option<Duration>,
}

impl Contender {
    /// A session with the fixture's lease on a client of its own.
    pub(crate) async fn open(fixture: &dyn Fixture) -> Self {
        Self::on(fixture.connect().await, fixture.lease()).await
    }

    /// A session on a client of its own that outlives the test without a keep-alive.
    pub(crate) async fn lasting(fixture: &dyn Fixture) -> Self {
        Self::on(fixture.connect().await, lasting(fixture)).await
    }

    /// A session on that client.
    pub(crate) async fn on(backend: Arc<dyn LeaseBackend>, lease: Duration) -> Self {
        let opened = backend.open_session(lease, &Metadata::default()).await;
        Self { backend, session: opened.expect("a session opens").session, lease }
    }

    /// The same session through a client of its own, where the storage has that.
    pub(crate) async fn elsewhere(&self, fixture: &dyn Fixture) -> Self {
        match self.backend.capabilities().session_scope {
            SessionScope::Storage => Self { backend: fixture.connect().await, ..self.clone() },
            SessionScope::Backend => self.clone(),
        }
    }

    pub(crate) async fn acquire_all(&self, names: &[LeaseName]) -> BTreeMap<LeaseName, Acquisition> {
        let answers = match self.backend.acquire(&self.session, names).await {
            Ok(Acquired::Answers(answers)) => answers,
            other => panic!("an acquire by the live session {}: {other:?}", self.session),
        };
        assert_eq!(answers.len(), names.len(), "one answer for each name");
        let answers: BTreeMap<_, _> = answers.into_iter().collect();
        assert!(names.iter().all(|name| answers.contains_key(name)), "the answers name what was asked for");
        answers
    }

    pub(crate) async fn acquire(&self, name: &LeaseName) -> Acquisition {
        let mut answers = self.acquire_all(std::slice::from_ref(name)).await;
        answers.remove(name).expect("the answer names what was asked for")
    }

    /// Acquires a name that must be free.
    pub(crate) async fn granted(&self, name: &LeaseName) -> Token {
        let answer = self.acquire(name).await;
        let Acquisition::Granted { token, remaining } = answer else {
            panic!("{name} is free, yet {answer:?}");
        };
        assert!(remaining <= self.lease, "{name}: {remaining:?} of a lease of {:?}", self.lease);
        token
    }

    /// Acquires a name that another session must hold.
    pub(crate) async fn refused(&self, name: &LeaseName) -> Option<Duration> {
        let answer = self.acquire(name).await;
        let Acquisition::Held { free_in } = answer else {
            panic!("{name} is held by another session, yet {answer:?}");
        };
        free_in
    }

    pub(crate) async fn release(&self, name: &LeaseName, token: Token) {
        let leases = [(name.clone(), token)];
        match self.backend.release(&self.session, &leases).await.as_deref() {
            Ok([(released, Release::Gone)]) if released == name => {}
            other => panic!("a release of {name}: {other:?}"),
        }
    }

    pub(crate) async fn keep_alive_for(&self, lease: Duration) -> Option<Alive> {
        match self.backend.keep_alive(&self.session, lease).await {
            Ok(KeepAlive::Live { remaining, owned, unknown, groups, server_elapsed }) => {
                Some(Alive { remaining, owned, unknown, groups, server_elapsed })
            }
            Ok(KeepAlive::Expired) => None,
            Err(error) => panic!("a keep-alive of {}: {error:?}", self.session),
        }
    }

    /// Keeps the session alive, which must live.
    pub(crate) async fn alive(&self) -> Alive {
        let answer = self.keep_alive_for(self.lease).await;
        answer.unwrap_or_else(|| panic!("the session {} lives", self.session))
    }

    pub(crate) async fn is_expired(&self) -> bool {
        self.keep_alive_for(self.lease).await.is_none()
    }

    /// What a keep-alive lists; panics if it lists anything twice.
    pub(crate) async fn owned(&self) -> BTreeMap<LeaseName, Token> {
        let listed = self.alive().await.owned;
        let count = listed.len();
        let owned: BTreeMap<_, _> = listed.into_iter().collect();
        assert_eq!(owned.len(), count, "no lease is listed twice");
        owned
    }

    pub(crate) async fn close(&self) {
        self.backend.close_session(&self.session).await.expect("a session closes");
    }

    pub(crate) async fn join(&self, group: &GroupName) -> Joined {
        self.backend.join(&self.session, group).await.expect("a join is answered")
    }

    pub(crate) async fn leave(&self, group: &GroupName) {
        self.backend.leave(&self.session, group).await.expect("a leave is answered");
    }

    pub(crate) async fn members(&self, group: &GroupName) -> Vec<Member> {
        self.backend.members(group).await.expect("members are told")
    }

    /// The sessions in a group, as told.
    pub(crate) async fn view(&self, group: &GroupName) -> Vec<SessionId> {
        self.members(group).await.into_iter().map(|member| member.session).collect()
    }

    pub(crate) async fn inspect(&self, name: &LeaseName) -> Option<Holder> {
        self.backend.inspect(name).await.expect("a lease is told of")
    }

    /// Runs as many calls at once as there are contenders.
    pub(crate) async fn race<T, F>(contenders: &[Self], call: impl Fn(Self) -> F) -> Vec<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let mut calls = JoinSet::new();
        for contender in contenders {
            calls.spawn(call(contender.clone()));
        }
        calls.join_all().await
    }
}

/// A lease that no test outlives.
pub(crate) fn lasting(fixture: &dyn Fixture) -> Duration {
    fixture.lease() * 20
}

/// Lets a session of the fixture's lease run out.
pub(crate) async fn outlast(fixture: &dyn Fixture) {
    fixture.pass(fixture.lease() * 5 / 4).await;
}

/// Waits until it is so, for as long as the fixture is patient.
pub(crate) async fn eventually(fixture: &dyn Fixture, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..200 {
        if is_so().await {
            return;
        }
        fixture.pass(fixture.patience() / 200).await;
    }
    panic!("not within {:?}: {what}", fixture.patience());
}

pub(crate) fn name(text: impl AsRef<str>) -> LeaseName {
    text.as_ref().parse().expect("the suite writes names that are names")
}

pub(crate) fn names(prefix: &str, count: usize) -> Vec<LeaseName> {
    (0..count).map(|number| name(format!("{prefix}-{number:05}"))).collect()
}

pub(crate) fn group(text: &str) -> GroupName {
    text.parse().expect("the suite writes names that are names")
}
