//! A server's process, with those that it starts itself.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{kit, nursery};

/// How often a process is looked at that is about to stop or to end.
const GLANCE: Duration = Duration::from_millis(1);

/// Glances after which a process that was told to quit is killed, and those that one which was killed may take.
const PATIENCE: u32 = 10_000;

/// Killed on drop.
pub(crate) struct Process {
    child: Child,
    pid: Pid,
}

/// A command that is run as a server: without root's rights, and no longer than this process runs.
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if let Some(user) = kit::server_user().map(|user| user.to_string()) {
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    }
    command.arg("--").arg(program);
    command
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        // Ctrl-C is for the tests; it does not end servers one by one.
        command.process_group(0);
        let child = nursery::spawn(command).expect("setpriv (of util-linux) starts");
        let pid = Pid::from_child(&child);
        Self { child, pid }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("nobody else waits for our child")
    }

    /// Stops it and its children where they stand.
    pub(crate) fn stop(&self) {
        for pid in self.halt() {
            send(pid, Signal::STOP);
        }
    }

    pub(crate) fn resume(&self) {
        for pid in children_of(self.pid) {
            send(pid, Signal::CONT);
        }
        send(self.pid, Signal::CONT);
    }

    /// Ends it and its children where they stand. When this returns, none of them is left.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Asks it to end, and kills it if it does not.
    pub(crate) fn quit(mut self) {
        self.resume();
        send(self.pid, Signal::QUIT);
        for _ in 0..PATIENCE {
            if self.ended().is_some() {
                return;
            }
            thread::sleep(GLANCE);
        }
    }

    /// Stops the process itself, so that it starts no more children, and tells which it has: PostgreSQL's are
    /// in no process group of its.
    fn halt(&self) -> Vec<Pid> {
        send(self.pid, Signal::STOP);
        glance_until(|| !matches!(status_of(self.pid), Some((_, 'R' | 'S' | 'D'))));
        children_of(self.pid)
    }

    fn end(&mut self) {
        if self.ended().is_some() {
            return;
        }
        let children = self.halt();
        for pid in children.iter().copied().chain([self.pid]) {
            send(pid, Signal::KILL);
        }
        // It fails only if it was waited for already.
        let _ = self.child.wait();
        glance_until(|| children.iter().all(|pid| matches!(status_of(*pid), None | Some((_, 'Z' | 'X')))));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn send(pid: Pid, signal: Signal) {
    // It may have ended by itself.
    let _ = kill_process(pid, signal);
}

fn glance_until(done: impl Fn() -> bool) {
    for _ in 0..PATIENCE {
        if done() {
            return;
        }
        thread::sleep(GLANCE);
    }
}

fn children_of(parent: Pid) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(|pid| {
            status_of(*pid).is_some_and(|(its_parent, _)| its_parent == parent.as_raw_nonzero().get())
        })
        .collect()
}

/// Its parent and its state, if there is such a process.
fn status_of(pid: Pid) -> Option<(i32, char)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name in front may have anything in it.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((words.next()?.parse().ok()?, state))
}
