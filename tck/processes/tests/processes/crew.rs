//! Processes of one program that this test started, and what they say.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use simba_processes::now;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};

use crate::scratch::Scratch;

/// No answer takes longer: whoever waits for more is stuck.
const BOUND: Duration = Duration::from_secs(30);

/// One line of one process.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) pid: u32,
    /// When it was read.
    pub(crate) at: Duration,
    pub(crate) text: String,
}

impl Line {
    /// The number that follows the word.
    pub(crate) fn number_after(&self, word: &str) -> u64 {
        let words = self.text.split([' ', ',']).skip_while(|each| *each != word);
        words.skip(1).find_map(|word| word.parse().ok()).unwrap_or_else(|| panic!("{word} in {self:?}"))
    }
}

/// They die with the crew.
pub(crate) struct Crew {
    program: &'static str,
    arguments: Vec<OsString>,
    children: BTreeMap<u32, Child>,
    started: usize,
    said: mpsc::UnboundedSender<Line>,
    lines: mpsc::UnboundedReceiver<Line>,
}

impl Crew {
    /// The example that users run.
    pub(crate) fn of_failover(scratch: &Scratch, lease: Duration) -> Self {
        let lease = lease.as_secs_f64().to_string();
        let arguments = ["--storage", &scratch.url(), "--lease", &lease].map(OsString::from);
        Self::new(env!("CARGO_BIN_EXE_failover"), arguments.to_vec())
    }

    /// Workers, each with a log of its own.
    pub(crate) fn of_workers(task: &str, scratch: &Scratch, lease: Duration) -> Self {
        let lease = lease.as_millis().to_string();
        let mut arguments = [task, &scratch.url(), &lease].map(OsString::from).to_vec();
        arguments.push(scratch.directory().into());
        Self::new(env!("CARGO_BIN_EXE_worker"), arguments)
    }

    fn new(program: &'static str, arguments: Vec<OsString>) -> Self {
        let (said, lines) = mpsc::unbounded_channel();
        Self { program, arguments, children: BTreeMap::new(), started: 0, said, lines }
    }

    /// Starts one more.
    pub(crate) fn start(&mut self) -> u32 {
        self.started += 1;
        let mut arguments = self.arguments.clone();
        if self.program == env!("CARGO_BIN_EXE_worker") {
            let directory = arguments.pop().expect("the directory is the last argument");
            let log = std::path::PathBuf::from(directory).join(format!("{}.log", self.started));
            arguments.push(log.into());
        }
        let mut command = Command::new(self.program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let pid = child.id().expect("it was not waited for");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = self.said.clone();
        tokio::spawn(async move {
            while let Ok(Some(text)) = lines.next_line().await {
                // The crew may be gone.
                let _ = said.send(Line { pid, at: now(), text });
            }
        });
        self.children.insert(pid, child);
        pid
    }

    pub(crate) fn pids(&self) -> Vec<u32> {
        self.children.keys().copied().collect()
    }

    /// Waits for a line; those before it are gone.
    pub(crate) async fn line(&mut self, wanted: impl Fn(&Line) -> bool) -> Line {
        self.line_within(BOUND, wanted).await.expect("a line within the bound")
    }

    /// Waits for a line as long as it may take.
    pub(crate) async fn line_within(
        &mut self,
        limit: Duration,
        wanted: impl Fn(&Line) -> bool,
    ) -> Option<Line> {
        let line = async {
            loop {
                let line = self.lines.recv().await.expect("the crew has a sender itself");
                assert!(!line.text.starts_with("failed"), "{line:?}");
                if wanted(&line) {
                    return line;
                }
            }
        };
        timeout(limit, line).await.ok()
    }

    /// Waits until that process says something that begins so.
    pub(crate) async fn hears(&mut self, pid: u32, start: &str) -> Line {
        self.line(|line| line.pid == pid && line.text.starts_with(start)).await
    }

    /// Tells a process what to do.
    pub(crate) async fn tell(&mut self, pid: u32, order: &str) {
        let orders = self.children.get_mut(&pid).and_then(|child| child.stdin.as_mut());
        orders.expect("one of the crew").write_all(format!("{order}\n").as_bytes()).await.unwrap();
    }

    /// Sends a signal to one of the crew, and to nobody else.
    pub(crate) fn signal(&self, pid: u32, signal: Signal) {
        let child = self.children.get(&pid).expect("one of the crew");
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        kill_process(pid.expect("it was not waited for yet"), signal).unwrap();
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self, pid: u32) -> ExitStatus {
        let mut child = self.children.remove(&pid).expect("one of the crew");
        timeout(BOUND, child.wait()).await.expect("it ends within the bound").unwrap()
    }

    pub(crate) async fn kill(&mut self, pid: u32) {
        self.signal(pid, Signal::KILL);
        self.ended(pid).await;
    }
}
