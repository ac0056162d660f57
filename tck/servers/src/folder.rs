//! A folder of its own for each server, gone with it.

use std::{
    fs::{self, File, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::fs::statvfs;
use tokio::task::spawn_blocking;

use crate::{kit, kit::Kit, leftovers, options::Durability};

/// So much memory must be free for data to be kept there.
const ROOM: u64 = 1 << 30;

/// Removed on drop, or by the next process if this one is killed.
pub(crate) struct Folder {
    durability: Durability,
    path: PathBuf,
    lock: PathBuf,
    _locked: File,
}

impl Folder {
    /// # Panics
    /// If none can be made.
    pub(crate) fn new(durability: Durability) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let base = base(durability);
        let failed = |error: io::Error| -> ! { panic!("{}: {error}", base.display()) };
        fs::create_dir_all(&base).unwrap_or_else(|error| failed(error));
        leftovers::prepare_once(&base);
        loop {
            let path = base.join(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
            let lock = path.with_extension("lock");
            let Some(locked) = leftovers::claim(&lock).unwrap_or_else(|error| failed(error)) else {
                continue;
            };
            match fs::create_dir(&path) {
                Ok(()) => {
                    open_to_servers(&path, 0o755);
                    return Self { durability, path, lock, _locked: locked };
                }
                // Left by a process of that number, and not to be removed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => failed(error),
            }
        }
    }

    /// What its content survives.
    pub(crate) fn durability(&self) -> Durability {
        self.durability
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
    /// If the server was not prepared.
    pub(crate) async fn copy_data(&self, kit: Kit) {
        kit.server();
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
        leftovers::remove(&self.path, &self.lock);
    }
}

/// In memory what need not be on a disk: there it neither waits for the disk nor keeps others waiting for it.
fn base(durability: Durability) -> PathBuf {
    let memory = PathBuf::from(format!("/dev/shm/simba-servers-{}", rustix::process::geteuid().as_raw()));
    let room = statvfs("/dev/shm").map_or(0, |found| found.f_bavail * found.f_frsize);
    match durability {
        Durability::Process if room >= ROOM => memory,
        Durability::Process | Durability::Machine => kit::base().join("tests"),
    }
}

/// Whatever this process's umask says.
fn open_to_servers(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
}
