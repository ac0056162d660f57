//! A client in the other process, as if it were in this one: so that its wall clock can be another.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use simba_backends::{
    Acquired, Acquisition, BackendError, Capabilities, ErrorKind, GroupName, HintSource, Holder, Joined,
    KeepAlive, LeaseBackend, LeaseName, Member, Metadata, Opened, Outcome, Release, SessionId, Token,
};
use simba_tck::{Skew, async_trait};
use tokio::sync::Mutex;

use super::Child;

/// Knows as many verbs as a clock can matter to.
#[allow(dead_code, reason = "not every storage can be seen from a process with another clock")]
pub(crate) struct Remote {
    child: Mutex<Child>,
    clock: PathBuf,
}

#[allow(dead_code, reason = "not every storage can be seen from a process with another clock")]
impl Remote {
    pub(crate) async fn start(url: &str, skew: Skew) -> Self {
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap();
        let offset = match skew {
            Skew::Ahead(time) => nanos(time),
            Skew::Behind(time) => -nanos(time),
        };
        let mut content = [0; 4096];
        content[..8].copy_from_slice(&offset.to_ne_bytes());
        let clock = std::env::temp_dir().join(format!("simba-tck-clock-{}", SessionId::random()));
        std::fs::write(&clock, content).unwrap();
        let shim = simba_servers::clock_shim();
        let environment = [("LD_PRELOAD", shim.as_path()), ("STEPCLOCK_FILE", clock.as_path())];
        let mut child = Child::start_in(url, environment).await;
        let theirs: i128 = child.ask("remote clock").await.parse().unwrap();
        let off = theirs - wall_clock() - i128::from(offset);
        assert!(off.abs() < 600_000_000_000, "its clock is off by {off} ns more than it should be");
        Self { child: Mutex::new(child), clock }
    }

    async fn ask(&self, order: String) -> Result<String, BackendError> {
        let answer = self.child.lock().await.ask(&format!("remote {order}")).await;
        match answer.strip_prefix("error ") {
            Some(error) => Err(BackendError::new(ErrorKind::Unexpected, Outcome::Unknown, error)),
            None => Ok(answer),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // It is in the directory for temporary files.
        let _ = std::fs::remove_file(&self.clock);
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}

#[expect(clippy::disallowed_methods, reason = "it is the wall clock that is tested")]
fn wall_clock() -> i128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_nanos().cast_signed()
}

/// What the other process answers to it.
pub(super) async fn obey(backend: &Arc<dyn LeaseBackend>, order: &[&str]) -> String {
    let millis = |text: &str| Duration::from_millis(text.parse().unwrap());
    let answer = match order {
        ["clock"] => return wall_clock().to_string(),
        ["open", lease] => backend
            .open_session(millis(lease), &Metadata::default())
            .await
            .map(|opened| format!("{} {}", opened.session, opened.remaining.as_millis())),
        ["acquire", session, names @ ..] => {
            let answer = backend.acquire(&session.parse().unwrap(), &super::parsed(names)).await;
            answer.map(|answer| match answer {
                Acquired::Expired => "expired".to_owned(),
                Acquired::Answers(answers) => answers.iter().map(acquisition).collect::<Vec<_>>().join(" "),
            })
        }
        ["keep-alive", session, lease] => {
            let answer = backend.keep_alive(&session.parse().unwrap(), millis(lease)).await;
            answer.map(|answer| match answer {
                KeepAlive::Expired => "expired".to_owned(),
                KeepAlive::Live { remaining, owned, .. } => {
                    let owned = owned.iter().map(|(name, token)| format!(" {name}={token}"));
                    format!("{}{}", remaining.as_millis(), owned.collect::<String>())
                }
            })
        }
        other => panic!("no order: {other:?}"),
    };
    answer.unwrap_or_else(|error| format!("error {error}"))
}

fn acquisition((name, answer): &(LeaseName, Acquisition)) -> String {
    match answer {
        Acquisition::Granted { token, remaining } => {
            format!("{name}=granted,{token},{}", remaining.as_millis())
        }
        Acquisition::AlreadyOwned { token, remaining } => {
            format!("{name}=owned,{token},{}", remaining.as_millis())
        }
        Acquisition::Held { free_in: Some(free_in) } => format!("{name}=held,{}", free_in.as_millis()),
        Acquisition::Held { free_in: None } => format!("{name}=held"),
        Acquisition::Failed(error) => panic!("{name}: {error:?}"),
    }
}

fn parse_acquisition(text: &str) -> (LeaseName, Acquisition) {
    let millis = |text: &str| Duration::from_millis(text.parse().unwrap());
    let token = |text: &str| Token::new(text.parse().unwrap()).unwrap();
    let (name, answer) = text.split_once('=').unwrap();
    let answer = match answer.split(',').collect::<Vec<_>>()[..] {
        ["granted", number, remaining] => {
            Acquisition::Granted { token: token(number), remaining: millis(remaining) }
        }
        ["owned", number, remaining] => {
            Acquisition::AlreadyOwned { token: token(number), remaining: millis(remaining) }
        }
        ["held", free_in] => Acquisition::Held { free_in: Some(millis(free_in)) },
        ["held"] => Acquisition::Held { free_in: None },
        ref other => panic!("no answer: {other:?}"),
    };
    (name.parse().unwrap(), answer)
}

fn unknown_verb<T>() -> Result<T, BackendError> {
    Err(BackendError::new(ErrorKind::Unsupported, Outcome::NotApplied, "the other process has no such order"))
}

#[async_trait]
impl LeaseBackend for Remote {
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    async fn open_session(&self, lease: Duration, _metadata: &Metadata) -> Result<Opened, BackendError> {
        let answer = self.ask(format!("open {}", lease.as_millis())).await?;
        let (session, remaining) = answer.split_once(' ').unwrap();
        let remaining = Duration::from_millis(remaining.parse().unwrap());
        Ok(Opened { session: session.parse().unwrap(), remaining })
    }

    async fn keep_alive(&self, session: &SessionId, lease: Duration) -> Result<KeepAlive, BackendError> {
        let answer = self.ask(format!("keep-alive {session} {}", lease.as_millis())).await?;
        if answer == "expired" {
            return Ok(KeepAlive::Expired);
        }
        let mut words = answer.split(' ');
        let remaining = Duration::from_millis(words.next().unwrap().parse().unwrap());
        let owned = words.map(|word| {
            let (name, token) = word.split_once('=').unwrap();
            (name.parse().unwrap(), Token::new(token.parse().unwrap()).unwrap())
        });
        let owned = owned.collect();
        Ok(KeepAlive::Live { remaining, owned, unknown: vec![], groups: vec![], server_elapsed: None })
    }

    async fn acquire(&self, session: &SessionId, names: &[LeaseName]) -> Result<Acquired, BackendError> {
        let names: Vec<_> = names.iter().map(LeaseName::as_str).collect();
        let answer = self.ask(format!("acquire {session} {}", names.join(" "))).await?;
        if answer == "expired" {
            return Ok(Acquired::Expired);
        }
        Ok(Acquired::Answers(answer.split(' ').map(parse_acquisition).collect()))
    }

    async fn close_session(&self, _session: &SessionId) -> Result<(), BackendError> {
        unknown_verb()
    }

    async fn release(
        &self,
        _session: &SessionId,
        _leases: &[(LeaseName, Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        unknown_verb()
    }

    async fn join(&self, _session: &SessionId, _group: &GroupName) -> Result<Joined, BackendError> {
        unknown_verb()
    }

    async fn leave(&self, _session: &SessionId, _group: &GroupName) -> Result<(), BackendError> {
        unknown_verb()
    }

    async fn members(&self, _group: &GroupName) -> Result<Vec<Member>, BackendError> {
        unknown_verb()
    }

    async fn inspect(&self, _name: &LeaseName) -> Result<Option<Holder>, BackendError> {
        unknown_verb()
    }

    fn hints(&self) -> Option<Box<dyn HintSource>> {
        None
    }
}
