//! Another process: this test binary once more, which does what it is told line by line.
//!
//! The tests of every storage include this file. From the crate they are, it takes the storage's fixture
//! under the name `Storage`, with a `url()`, and `fixture::connect(url)` for a client in whichever process.

mod remote;

use std::{path::Path, process::Stdio, sync::Arc, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use simba_backends::{
    Acquired, Acquisition, GroupName, Joined, KeepAlive, LeaseBackend, LeaseName, Metadata, SessionId, Token,
};
use simba_tck::{Fixture, Rival, async_trait};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{ChildStdin, ChildStdout, Command},
};

#[allow(unused_imports, reason = "not every storage can be seen from a process with another clock")]
pub(crate) use remote::Remote;

use crate::{Storage, fixture};

/// Where the other process finds the storage.
const URL: &str = "SIMBA_TCK_RIVAL_URL";

/// What an answer begins with; the test harness of the process prints lines of its own.
const MARK: &str = "rival> ";

/// A process that this one started, and may stop and kill. It dies with its handle.
pub(crate) struct Child {
    process: tokio::process::Child,
    orders: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Child {
    pub(crate) async fn start(url: &str) -> Self {
        Self::start_in(url, []).await
    }

    /// With an environment of its own.
    pub(crate) async fn start_in<'a>(
        url: &str,
        environment: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .envs(environment)
            .args(["rival::process", "--exact", "--nocapture"])
            .env(URL, url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (orders, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut child = Self { process, orders, answers: BufReader::new(answers).lines() };
        assert_eq!(child.answer().await, "ready");
        child
    }

    pub(crate) async fn open(&mut self, lease: Duration) -> SessionId {
        self.ask(&format!("open {}", lease.as_millis())).await.parse().unwrap()
    }

    /// Acquires and answers `granted 7`, `owned 7`, `held`, ...
    pub(crate) async fn acquire(&mut self, session: &SessionId, name: &LeaseName) -> String {
        self.ask(&format!("acquire {session} {name}")).await
    }

    pub(crate) async fn release(&mut self, session: &SessionId, name: &LeaseName, token: Token) {
        assert_eq!(self.ask(&format!("release {session} {name} {token}")).await, "done");
    }

    /// `expired`, or `live` with what is held as `name=token` and the groups as `+group`, each in order.
    pub(crate) async fn keep_alive(&mut self, session: &SessionId, lease: Duration) -> String {
        self.ask(&format!("keep-alive {session} {}", lease.as_millis())).await
    }

    pub(crate) async fn close(&mut self, session: &SessionId) {
        assert_eq!(self.ask(&format!("close {session}")).await, "done");
    }

    pub(crate) async fn join(&mut self, session: &SessionId, group: &GroupName) {
        assert_eq!(self.ask(&format!("join {session} {group}")).await, "member");
    }

    pub(crate) async fn leave(&mut self, session: &SessionId, group: &GroupName) {
        assert_eq!(self.ask(&format!("leave {session} {group}")).await, "done");
    }

    /// The view that it has of a group.
    pub(crate) async fn members(&mut self, group: &GroupName) -> Vec<SessionId> {
        let answer = self.ask(&format!("members {group}")).await;
        answer.split_whitespace().map(|session| session.parse().unwrap()).collect()
    }

    /// Lets it acquire without a pause, until it is killed.
    pub(crate) async fn contend(&mut self, session: &SessionId, names: &[LeaseName]) {
        let names: Vec<_> = names.iter().map(LeaseName::as_str).collect();
        assert_eq!(self.ask(&format!("contend {session} {}", names.join(" "))).await, "contending");
    }

    /// Tells it what to do and waits for no answer.
    pub(crate) async fn tell(&mut self, order: &str) {
        self.orders.write_all(format!("{order}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn kill_now(&mut self) {
        self.signal(Signal::KILL);
        self.process.wait().await.unwrap();
    }

    async fn ask(&mut self, order: &str) -> String {
        self.tell(order).await;
        self.answer().await
    }

    pub(crate) async fn answer(&mut self) -> String {
        loop {
            let line = self.answers.next_line().await.unwrap().expect("the other process lives");
            if let Some((_, answer)) = line.split_once(MARK) {
                return answer.to_owned();
            }
        }
    }

    fn signal(&self, signal: Signal) {
        let pid = self.process.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        kill_process(pid.expect("the other process was not waited for yet"), signal).unwrap();
    }
}

#[async_trait]
impl Rival for Child {
    async fn stop(&mut self) {
        self.signal(Signal::STOP);
    }

    async fn resume(&mut self) {
        self.signal(Signal::CONT);
    }

    async fn kill(&mut self) {
        self.kill_now().await;
    }
}

/// What the other process runs. Without a storage it is a test of this file.
#[tokio::test]
async fn process() {
    let Ok(url) = std::env::var(URL) else { return it_obeys_until_its_orders_end().await };
    let backend = fixture::connect(&url).await;
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    tell("ready");
    while let Some(order) = orders.next_line().await.unwrap() {
        let words: Vec<_> = order.split(' ').collect();
        tell(&obey(&backend, &words).await);
    }
}

async fn it_obeys_until_its_orders_end() {
    let fixture = Storage::fresh().await;
    let mut child = Child::start(&fixture.url()).await;
    let session = child.open(Duration::from_secs(60)).await;
    let answer = child.acquire(&session, &"job".parse().unwrap()).await;
    assert!(answer.starts_with("granted "), "{answer}");
    let Child { mut process, orders, answers: _ } = child;
    drop(orders);
    assert!(process.wait().await.unwrap().success());
}

#[expect(clippy::print_stdout, reason = "the other end of the pipe reads it")]
fn tell(answer: &str) {
    println!("{MARK}{answer}");
}

async fn obey(backend: &Arc<dyn LeaseBackend>, order: &[&str]) -> String {
    let millis = |text: &str| Duration::from_millis(text.parse().unwrap());
    match order {
        ["open", lease] => {
            backend.open_session(millis(lease), &Metadata::default()).await.unwrap().session.to_string()
        }
        ["acquire", session, name] => acquired(backend, session, &[name]).await,
        ["release", session, name, token] => {
            let lease = (name.parse().unwrap(), Token::new(token.parse().unwrap()).unwrap());
            backend.release(&session.parse().unwrap(), &[lease]).await.unwrap();
            "done".to_owned()
        }
        ["keep-alive", session, lease] => {
            let answer = backend.keep_alive(&session.parse().unwrap(), millis(lease)).await.unwrap();
            listed(&answer)
        }
        ["close", session] => {
            backend.close_session(&session.parse().unwrap()).await.unwrap();
            "done".to_owned()
        }
        ["join", session, group] => {
            match backend.join(&session.parse().unwrap(), &group.parse().unwrap()).await.unwrap() {
                Joined::Member => "member".to_owned(),
                Joined::Expired => "expired".to_owned(),
            }
        }
        ["leave", session, group] => {
            backend.leave(&session.parse().unwrap(), &group.parse().unwrap()).await.unwrap();
            "done".to_owned()
        }
        ["members", group] => {
            let members = backend.members(&group.parse().unwrap()).await.unwrap();
            members.iter().map(|member| member.session.to_string()).collect::<Vec<_>>().join(" ")
        }
        ["contend", session, names @ ..] => {
            tell("contending");
            contend(backend, &session.parse().unwrap(), &parsed(names)).await
        }
        ["remote", order @ ..] => remote::obey(backend, order).await,
        other => panic!("no order: {other:?}"),
    }
}

/// Takes what it can get and gives it back, until it is killed.
async fn contend(backend: &Arc<dyn LeaseBackend>, session: &SessionId, names: &[LeaseName]) -> ! {
    loop {
        let Acquired::Answers(answers) = backend.acquire(session, names).await.unwrap() else {
            panic!("{session} has expired");
        };
        let granted = answers.into_iter().filter_map(|(name, answer)| match answer {
            Acquisition::Granted { token, .. } | Acquisition::AlreadyOwned { token, .. } => {
                Some((name, token))
            }
            Acquisition::Held { .. } | Acquisition::Failed(_) => None,
        });
        let granted: Vec<_> = granted.collect();
        if !granted.is_empty() {
            backend.release(session, &granted).await.unwrap();
        }
    }
}

fn parsed(names: &[&str]) -> Vec<LeaseName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

async fn acquired(backend: &Arc<dyn LeaseBackend>, session: &str, names: &[&str]) -> String {
    match backend.acquire(&session.parse().unwrap(), &parsed(names)).await.unwrap() {
        Acquired::Expired => "expired".to_owned(),
        Acquired::Answers(answers) => {
            let told = answers.iter().map(|(_, answer)| match answer {
                Acquisition::Granted { token, .. } => format!("granted {token}"),
                Acquisition::AlreadyOwned { token, .. } => format!("owned {token}"),
                Acquisition::Held { .. } => "held".to_owned(),
                Acquisition::Failed(error) => format!("failed {error:?}"),
            });
            told.collect::<Vec<_>>().join(" ")
        }
    }
}

/// What a keep-alive answered, in the words of this protocol.
pub(crate) fn listed(answer: &KeepAlive) -> String {
    match answer {
        KeepAlive::Expired => "expired".to_owned(),
        KeepAlive::Live { owned, groups, .. } => {
            let mut told: Vec<_> = owned.iter().map(|(name, token)| format!("{name}={token}")).collect();
            told.sort();
            let mut groups: Vec<_> = groups.iter().map(|group| format!("+{group}")).collect();
            groups.sort();
            told.append(&mut groups);
            format!("live {}", told.join(" "))
        }
    }
}
