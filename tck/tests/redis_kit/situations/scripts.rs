//! Servers that forget the scripts, and servers that start again, between any two calls.

use std::time::Duration;

use simba_backends::{
    Acquired, Acquisition, BackendError, GroupName, Joined, KeepAlive, LeaseBackend, LeaseName, Metadata,
    SessionId, Token,
};
use simba_tck::Fixture;

use crate::{
    Storage,
    peer::{LONG, name},
};

/// How often a call may fail before it must succeed.
#[derive(Clone, Copy)]
enum Patience {
    None,
    /// While connections are opened anew.
    AsLongAsItTakes,
}

impl Patience {
    async fn call<T>(self, what: &str, mut call: impl AsyncFnMut() -> Result<T, BackendError>) -> T {
        let tries = match self {
            Self::None => 1,
            Self::AsLongAsItTakes => 600,
        };
        let mut last = None;
        for _ in 0..tries {
            match call().await {
                Ok(answer) => return answer,
                Err(error) => last = Some(error),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{what}: {last:?}");
    }
}

/// Each operation, with something between any two of them.
struct Course<'a> {
    backend: &'a dyn LeaseBackend,
    patience: Patience,
    session: SessionId,
    name: LeaseName,
    group: GroupName,
}

impl Course<'_> {
    async fn keep_alive(&self) -> Vec<(LeaseName, Token)> {
        let answer =
            self.patience.call("keep-alive", async || self.backend.keep_alive(&self.session, LONG).await);
        match answer.await {
            KeepAlive::Live { owned, unknown, .. } => {
                assert!(unknown.is_empty(), "{unknown:?}");
                owned
            }
            KeepAlive::Expired => panic!("{} has expired", self.session),
        }
    }

    /// The token, whether it was granted by this call or by one whose answer was lost.
    async fn acquire(&self) -> Token {
        let answer = self.patience.call("acquire", async || {
            let acquired = self.backend.acquire(&self.session, std::slice::from_ref(&self.name)).await?;
            match acquired {
                Acquired::Answers(mut answers) => match answers.remove(0).1 {
                    Acquisition::Failed(error) => Err(error),
                    answer @ (Acquisition::Granted { .. }
                    | Acquisition::AlreadyOwned { .. }
                    | Acquisition::Held { .. }) => Ok(answer),
                },
                Acquired::Expired => panic!("{} has expired", self.session),
            }
        });
        match answer.await {
            Acquisition::Granted { token, .. } | Acquisition::AlreadyOwned { token, .. } => token,
            other @ (Acquisition::Held { .. } | Acquisition::Failed(_)) => panic!("{other:?}"),
        }
    }

    async fn run(&self, mut between: impl AsyncFnMut()) {
        let Self { backend, patience, session, name, group } = self;
        between().await;
        let first = self.acquire().await;
        between().await;
        assert_eq!(self.keep_alive().await, [(name.clone(), first)]);
        between().await;
        let joined = patience.call("join", async || backend.join(session, group).await).await;
        assert_eq!(joined, Joined::Member);
        between().await;
        let members = patience.call("members", async || backend.members(group).await).await;
        assert_eq!(members.len(), 1);
        between().await;
        let holder = patience.call("inspect", async || backend.inspect(name).await).await;
        assert_eq!(holder.expect("it is held").token, first);
        between().await;
        patience.call("leave", async || backend.leave(session, group).await).await;
        between().await;
        let released = [(name.clone(), first)];
        patience.call("release", async || backend.release(session, &released).await).await;
        between().await;
        assert!(self.acquire().await > first, "a token was forgotten");
        between().await;
        patience.call("close", async || backend.close_session(session).await).await;
        between().await;
        let expired = patience.call("keep-alive", async || backend.keep_alive(session, LONG).await).await;
        assert_eq!(expired, KeepAlive::Expired);
    }
}

async fn course(server: &Storage, patience: Patience, between: impl AsyncFnMut()) {
    let backend = server.connect().await;
    let opened = patience.call("open", async || backend.open_session(LONG, &Metadata::default()).await).await;
    let group = "g".parse().unwrap();
    let course = Course { backend: &*backend, patience, session: opened.session, name: name("n"), group };
    course.run(between).await;
}

#[tokio::test]
async fn servers_that_forget_the_scripts_between_any_two_calls_are_told_again() {
    let server = Storage::fresh().await;
    course(&server, Patience::None, async || server.everywhere("SCRIPT FLUSH SYNC").await).await;
}

#[tokio::test]
async fn a_restart_between_any_two_calls_takes_no_term_and_no_token() {
    let server = Storage::fresh().await;
    course(&server, Patience::AsLongAsItTakes, async || {
        server.restart().await.unwrap();
    })
    .await;
}
