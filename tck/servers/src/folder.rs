//! A folder of its own for each server, gone with it.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Once,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::task::spawn_blocking;

use crate::{kit, kit::Kit, shared_memory};

/// How often, and how many times, it is looked whether processes that were killed are gone.
const GLANCE: Duration = Duration::from_millis(1);
const GLANCES: u32 = 5000;

/// Removed on drop. What a killed process left behind is removed by the next one: whose lock is free is nobody's.
pub(crate) struct Folder {
    path: PathBuf,
    lock: PathBuf,
    _locked: File,
}

impl Folder {
    pub(crate) fn new() -> Self {
        static SWEPT: Once = Once::new();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let base = kit::base().join("tests");
        fs::create_dir_all(&base).unwrap_or_else(|error| panic!("{}: {error}", base.display()));
        SWEPT.call_once(|| sweep(&base));
        loop {
            let path = base.join(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
            let lock = path.with_extension("lock");
            if let Some(locked) = claim(&lock) {
                fs::create_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                open_to_servers(&path, 0o755);
                return Self { path, lock, _locked: locked };
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Makes the data folder a copy of the one that was prepared.
    ///
    /// # Panics
    /// If none was.
    pub(crate) async fn copy_data(&self, kit: Kit) {
        let mut copy = Command::new("cp");
        copy.args(["-a", "--reflink=auto"]).arg(kit.data()).arg(self.data());
        let copied = spawn_blocking(move || copy.status()).await.expect("a command does not panic");
        assert!(copied.is_ok_and(|status| status.success()), "{} cannot be copied", kit.data().display());
    }

    /// Makes a data folder that is empty.
    pub(crate) fn make_data(&self) {
        fs::create_dir(self.data()).expect("the folder is new");
        open_to_servers(&self.data(), 0o700);
        kit::hand_over(&self.data());
    }

    /// A file that servers can read.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path.join(name);
        fs::write(&path, content).expect("the folder is ours");
        open_to_servers(&path, 0o644);
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path, &self.lock);
    }
}

/// Whatever this process's umask says.
fn open_to_servers(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}

/// Takes a lock that nobody has; one that was removed meanwhile is none.
fn claim(lock: &Path) -> Option<File> {
    let file = File::create(lock).ok()?;
    file.try_lock().ok()?;
    lock.exists().then_some(file)
}

fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let lock = entry.path();
        if lock.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        if let Some(_locked) = claim(&lock) {
            let path = lock.with_extension("");
            end_orphans(&path);
            remove(&path, &lock);
        }
    }
}

/// Kills who works in the folder: processes that were stopped when their test process was killed. Those that
/// end by themselves are waited for.
fn end_orphans(path: &Path) {
    for _ in 0..GLANCES {
        let orphans = working_in(path);
        if orphans.is_empty() {
            return;
        }
        for pid in orphans {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(GLANCE);
    }
}

fn working_in(path: &Path) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(path)))
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

fn remove(path: &Path, lock: &Path) {
    shared_memory::give_back(&path.join("data"));
    // What cannot be removed stays in the directory for temporary files.
    let _ = fs::remove_dir_all(path);
    let _ = fs::remove_file(lock);
}
