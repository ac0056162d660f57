//! Processes of one program that this test started, and what they say.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use simba_processes::{RESOURCE, now};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};

use crate::{
    scratch::{Scratch, let_go},
    storage::{SQLITE, Storage},
};

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

enum Program {
    /// The example that users run.
    Failover,
    /// Each with a log of its own in this directory, and what the leases protect.
    Worker(PathBuf),
}

/// They die with the crew.
pub(crate) struct Crew {
    program: Program,
    lease: Duration,
    children: BTreeMap<u32, Child>,
    said: mpsc::UnboundedSender<Line>,
    lines: mpsc::UnboundedReceiver<Line>,
    heard: Vec<Line>,
}

impl Crew {
    /// The example that users run.
    pub(crate) fn of_failover(lease: Duration) -> Self {
        Self::new(Program::Failover, lease)
    }

    /// Workers, which leave their logs in the directory.
    pub(crate) fn of_workers(scratch: &Scratch, lease: Duration) -> Self {
        Self::new(Program::Worker(scratch.directory().to_owned()), lease)
    }

    fn new(program: Program, lease: Duration) -> Self {
        let (said, lines) = mpsc::unbounded_channel();
        Self { program, lease, children: BTreeMap::new(), said, lines, heard: Vec::new() }
    }

    /// Starts one more, whose leases are there.
    pub(crate) fn start(&mut self, url: &str) -> u32 {
        let command = self.command(url);
        self.start_as(command)
    }

    /// What starts one more, to add to.
    pub(crate) fn command(&self, url: &str) -> Command {
        match &self.program {
            Program::Failover => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_failover"));
                let lease = self.lease.as_secs_f64().to_string();
                command.args(["--storage", url, "--lease", &lease]);
                command
            }
            Program::Worker(directory) => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_worker"));
                command.args([url, &self.lease.as_millis().to_string()]).arg(directory);
                command
            }
        }
    }

    pub(crate) fn start_as(&mut self, mut command: Command) -> u32 {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
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

    /// Starts a worker that obeys these, and waits until it is ready.
    pub(crate) async fn join(&mut self, url: &str, orders: &[&str]) -> u32 {
        let pid = self.start(url);
        self.hears(pid, "ready").await;
        for order in orders {
            self.tell(pid, order).await;
        }
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
                self.heard.push(line.clone());
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

    /// Waits for a line that may have been said already.
    pub(crate) async fn finds(&mut self, wanted: impl Fn(&Line) -> bool) -> Line {
        match self.heard().iter().find(|line| wanted(line)) {
            Some(line) => line.clone(),
            None => self.line(wanted).await,
        }
    }

    /// Everything that was said until now.
    pub(crate) fn heard(&mut self) -> &[Line] {
        while let Ok(line) = self.lines.try_recv() {
            self.heard.push(line);
        }
        &self.heard
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

    /// Stops one of the crew, but not inside of a write to a file: that would block the file for all.
    pub(crate) async fn halt(&self, pid: u32, storage: &Storage, scratch: &Scratch) {
        let leases = match storage {
            Storage::Sqlite(file) => Some(file.hold(SQLITE).await),
            Storage::Postgres(_)
            | Storage::MySql(_)
            | Storage::Redis(_)
            | Storage::Sentinels(_)
            | Storage::Cluster(_)
            | Storage::ZooKeeper(_)
            | Storage::Ensemble(_) => None,
        };
        let resource = scratch.hold(RESOURCE).await;
        self.signal(pid, Signal::STOP);
        for lock in leases.into_iter().chain([resource]) {
            let_go(lock).await;
        }
    }

    /// Ends workers in good order, one by one.
    pub(crate) async fn close(&mut self) {
        for pid in self.pids() {
            self.close_one(pid).await;
        }
    }

    pub(crate) async fn close_one(&mut self, pid: u32) {
        self.tell(pid, "close").await;
        self.hears(pid, "closed").await;
        assert!(self.ended(pid).await.success());
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

/// Of a test that fails, what was said last.
const LAST: usize = 80;

impl Drop for Crew {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let heard = self.heard();
            for line in &heard[heard.len().saturating_sub(LAST)..] {
                eprintln!("{:>9.3} {}: {}", line.at.as_secs_f64(), line.pid, line.text);
            }
        }
    }
}
