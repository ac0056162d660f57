//! A server of ours: its process, its folder, its port.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::PathBuf,
    process::Command,
    sync::{Mutex, MutexGuard},
};

use crate::{
    answer::answers, folder::Folder, kit, kit::Kit, port::Port, process, process::Process, wait::until,
};

const LOG: &str = "log";
const CLOCK: &str = "clock";

/// How it is ended when nobody needs it any more.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Farewell {
    /// By a signal that it cannot ignore.
    Kill,
    /// By one that makes it give back what the kernel keeps beyond its end.
    Quit,
}

/// Ended and removed on drop.
pub(crate) struct Server {
    kit: Kit,
    farewell: Farewell,
    arguments: Vec<String>,
    /// Where it must answer before it counts as started.
    url: String,
    process: Mutex<Option<Process>>,
    /// Nobody else's, also while the server is down.
    _port: Port,
    folder: Folder,
}

impl Server {
    /// One that is not started yet, in a folder that is ready for it.
    pub(crate) fn new(kit: Kit, farewell: Farewell, folder: Folder, port: Port, url: String) -> Self {
        folder.write(CLOCK, &[0; 4096]);
        Self { kit, farewell, arguments: Vec::new(), url, process: Mutex::new(None), _port: port, folder }
    }

    pub(crate) fn with_arguments(mut self, arguments: impl IntoIterator<Item = String>) -> Self {
        self.arguments.extend(arguments);
        self
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Starts it and waits until it answers; one that runs already only has to answer.
    ///
    /// # Panics
    /// If it does not, with the end of its log.
    pub(crate) async fn start(&self) {
        let command = self.command();
        self.process().get_or_insert_with(|| Process::start(command));
        let what = format!("{} answers, log in {}", self.kit.name(), self.folder.path().display());
        until(&what, || async {
            let answered = answers(&self.url).await;
            if let Some(status) = self.process().as_mut().and_then(Process::ended) {
                panic!("{} ended by itself ({status}):\n{}", self.kit.name(), self.end_of_log());
            }
            answered.then_some(())
        })
        .await;
    }

    pub(crate) fn kill(&self) {
        if let Some(process) = self.process().take() {
            process.kill();
        }
    }

    pub(crate) fn stop(&self) {
        self.process().iter().for_each(Process::stop);
    }

    pub(crate) fn resume(&self) {
        self.process().iter().for_each(Process::resume);
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        self.process().as_ref().map(Process::id)
    }

    /// Makes its wall clock show that many nanoseconds more than the machine's.
    pub(crate) fn set_clock(&self, offset: i64) {
        let file = OpenOptions::new().write(true).open(self.folder.path().join(CLOCK));
        file.and_then(|file| file.write_all_at(&offset.to_ne_bytes(), 0)).expect("the folder is ours");
    }

    fn command(&self) -> Command {
        let mut command = process::command(&self.kit.server());
        let log = File::options().append(true).create(true).open(self.log()).expect("the folder is ours");
        command
            .args(&self.arguments)
            .env("LD_PRELOAD", kit::clock_shim())
            .env("STEPCLOCK_FILE", self.folder.path().join(CLOCK))
            // The one of the tests need not be open to servers.
            .env("TMPDIR", self.folder.data())
            .current_dir(self.folder.path())
            .stdin(std::process::Stdio::null())
            .stdout(log.try_clone().expect("a file can be used twice"))
            .stderr(log);
        command
    }

    fn process(&self) -> MutexGuard<'_, Option<Process>> {
        self.process.lock().expect("nobody panics while holding it")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join(LOG)
    }

    fn end_of_log(&self) -> String {
        let log = fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let (Some(process), Farewell::Quit) = (self.process().take(), self.farewell) {
            process.quit();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("kit", &self.kit.name()).field("folder", &self.folder.path()).finish()
    }
}
