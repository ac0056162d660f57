//! The contract between two processes that share a storage.
//!
//! The tests of every storage include this file beside the other process, and take from their crate what that
//! takes.

mod groups;
mod hints;
mod sessions;

use std::{sync::Arc, time::Duration};

use simba_backends::{
    Acquired, Acquisition, KeepAlive, LeaseBackend, LeaseName, Metadata, SessionId, SessionScope, Token,
};
use simba_tck::Fixture;

use crate::{
    Storage,
    rival::{Child, listed},
};

const LONG: Duration = Duration::from_secs(3600);

/// This process's side.
struct Here {
    fixture: Storage,
    backend: Arc<dyn LeaseBackend>,
    session: SessionId,
}

impl Here {
    async fn open() -> Self {
        let fixture = Storage::fresh().await;
        let backend = fixture.connect().await;
        let session = backend.open_session(LONG, &Metadata::default()).await.unwrap().session;
        Self { fixture, backend, session }
    }

    /// One more session, on the same client.
    async fn another(&self, lease: Duration) -> SessionId {
        self.backend.open_session(lease, &Metadata::default()).await.unwrap().session
    }

    /// Whether each process can use all sessions.
    #[expect(clippy::print_stdout, reason = "the output of a test is where its reader looks")]
    fn shares_sessions(&self) -> bool {
        let shares = self.backend.capabilities().session_scope == SessionScope::Storage;
        if !shares {
            println!("not declared: shared sessions: only the process that opened one uses it");
        }
        shares
    }

    /// A lease of sessions whose process is killed, until they are [ended](Self::end).
    fn lease_of_the_killed(&self) -> Duration {
        if self.shares_sessions() { LONG } else { self.fixture.lease() }
    }

    /// Ends the session of a killed process, or sees it end by itself.
    async fn end(&self, session: &SessionId) {
        for _ in 0..500 {
            match self.backend.close_session(session).await {
                Ok(()) => return,
                Err(error) => assert!(!self.shares_sessions(), "{error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{session} does not end");
    }

    async fn keep_alive(&self, session: &SessionId, lease: Duration) -> String {
        listed(&self.backend.keep_alive(session, lease).await.unwrap())
    }

    async fn acquire(&self, name: &LeaseName) -> Acquisition {
        self.acquire_for(&self.session, name).await
    }

    async fn acquire_for(&self, session: &SessionId, name: &LeaseName) -> Acquisition {
        match self.backend.acquire(session, std::slice::from_ref(name)).await.unwrap() {
            Acquired::Answers(mut answers) => answers.remove(0).1,
            Acquired::Expired => panic!("{session} has not expired yet"),
        }
    }

    async fn granted(&self, name: &LeaseName) -> Token {
        self.granted_to(&self.session, name).await
    }

    async fn granted_to(&self, session: &SessionId, name: &LeaseName) -> Token {
        let answer = self.acquire_for(session, name).await;
        let Acquisition::Granted { token, .. } = answer else { panic!("{name}: {answer:?}") };
        token
    }

    async fn is_held(&self, name: &LeaseName) -> bool {
        matches!(self.acquire(name).await, Acquisition::Held { .. })
    }

    /// Whether a session holds a name, once its list and the storage agree on that: what a process asked for before
    /// it was killed may still be under way.
    async fn lists_what_it_holds(&self, session: &SessionId, name: &LeaseName) -> bool {
        for _ in 0..500 {
            let answer = listed(&self.backend.keep_alive(session, LONG).await.unwrap());
            let holder = self.holder(name).await;
            assert!(holder.as_ref().is_none_or(|(holder, _)| holder == session), "{holder:?}");
            let expected = holder.map_or("live ".to_owned(), |(_, token)| format!("live {name}={token}"));
            if answer == expected {
                return answer != "live ";
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("what {session} lists of {name} is not what the storage has");
    }

    async fn holder(&self, name: &LeaseName) -> Option<(SessionId, Token)> {
        let holder = self.backend.inspect(name).await.unwrap();
        holder.map(|holder| (holder.session, holder.token))
    }
}

fn name(text: &str) -> LeaseName {
    text.parse().unwrap()
}

fn granted(answer: &str) -> Token {
    let token = answer.strip_prefix("granted ").unwrap_or_else(|| panic!("not granted: {answer}"));
    Token::new(token.parse().unwrap()).unwrap()
}

#[tokio::test]
async fn l1_to_l6_hold_between_two_processes() {
    let here = Here::open().await;
    let mut there = Child::start(&here.fixture.url()).await;
    let (session, n) = (there.open(LONG).await, name("n"));

    let theirs = granted(&there.acquire(&session, &n).await);
    assert!(here.is_held(&n).await);
    assert_eq!(there.acquire(&session, &n).await, format!("owned {theirs}"));
    assert_eq!(there.keep_alive(&session, LONG).await, format!("live n={theirs}"));
    assert_eq!(here.holder(&n).await, Some((session.clone(), theirs)));

    here.backend.release(&here.session, &[(n.clone(), theirs)]).await.unwrap();
    assert!(here.is_held(&n).await, "another session's release changes nothing");
    there.release(&session, &n, theirs).await;
    let ours = here.granted(&n).await;
    assert!(ours > theirs);
    there.release(&session, &n, theirs).await;
    there.release(&session, &n, ours).await;
    assert_eq!(there.acquire(&session, &n).await, "held");
    assert_eq!(there.keep_alive(&session, LONG).await, "live ");
}

#[tokio::test]
async fn l3_of_two_racing_processes_one_is_granted() {
    let here = Here::open().await;
    let mut there = Child::start(&here.fixture.url()).await;
    let session = there.open(LONG).await;
    let mut won = [0, 0];
    for round in 0..100 {
        let n = name(&format!("n{round}"));
        let (ours, theirs) = tokio::join!(here.acquire(&n), there.acquire(&session, &n));
        match (ours, theirs.as_str()) {
            (Acquisition::Granted { .. }, "held") => won[0] += 1,
            (Acquisition::Held { .. }, theirs) => {
                granted(theirs);
                won[1] += 1;
            }
            other => panic!("{n}: {other:?}"),
        }
    }
    println!("won here and there: {won:?}");
}

#[tokio::test]
async fn l2_tokens_rise_over_processes_that_are_killed() {
    let here = Here::open().await;
    let n = name("n");
    let mut last = here.granted(&n).await;
    here.backend.release(&here.session, &[(n.clone(), last)]).await.unwrap();
    for _ in 0..3 {
        let mut there = Child::start(&here.fixture.url()).await;
        let session = there.open(here.lease_of_the_killed()).await;
        let token = granted(&there.acquire(&session, &n).await);
        assert!(token > last, "{token} after {last}");
        last = token;
        there.kill_now().await;
        here.end(&session).await;
    }
    assert!(here.granted(&n).await > last);
}

#[tokio::test]
async fn s3_and_l7_the_session_of_a_killed_process_expires_and_its_leases_can_be_taken() {
    let here = Here::open().await;
    let lease = here.fixture.lease();
    let mut there = Child::start(&here.fixture.url()).await;
    let (session, n) = (there.open(lease).await, name("n"));
    let theirs = granted(&there.acquire(&session, &n).await);
    assert!(here.is_held(&n).await);
    there.keep_alive(&session, lease).await;
    there.kill_now().await;

    here.fixture.pass(lease * 5 / 4).await;
    assert!(here.granted(&n).await > theirs);
    assert_eq!(here.backend.keep_alive(&session, lease).await.unwrap(), KeepAlive::Expired);
    let again = here.backend.acquire(&session, &[name("m")]).await.unwrap();
    assert!(matches!(again, Acquired::Expired), "{again:?}");
}

/// The process is killed somewhere between the order and its answer.
#[tokio::test]
async fn l11_what_a_killed_process_was_granted_is_listed() {
    let here = Here::open().await;
    if !here.shares_sessions() {
        return;
    }
    let mut granted = 0;
    for round in 0..12_u32 {
        let mut there = Child::start(&here.fixture.url()).await;
        let (session, n) = (there.open(LONG).await, name(&format!("n{round}")));
        there.tell(&format!("acquire {session} {n}")).await;
        tokio::time::sleep(Duration::from_micros(u64::from(round * round) * 60)).await;
        there.kill_now().await;

        granted += u32::from(here.lists_what_it_holds(&session, &n).await);
        here.backend.close_session(&session).await.unwrap();
        here.granted(&n).await;
    }
    println!("{granted} of 12 were granted before the end");
}
