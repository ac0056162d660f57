//! What test processes left behind that were killed. Whose lock is free is nobody's.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::shared_memory;

/// How often, and how many times, it is looked whether processes that were killed are gone.
const GLANCE: Duration = Duration::from_millis(1);
const GLANCES: u32 = 5000;

/// Takes a lock that nobody has; one that was removed meanwhile is none.
pub(crate) fn claim(lock: &Path) -> io::Result<Option<File>> {
    let file = File::create(lock)?;
    Ok((file.try_lock().is_ok() && lock.exists()).then_some(file))
}

/// Removes the folders in there whose processes are gone.
pub(crate) fn sweep_once(base: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut swept = SWEPT.lock().expect("nobody panics while holding it");
    if swept.insert(base.to_owned()) {
        sweep(base);
    }
}

fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let lock = entry.path();
        if lock.extension().is_none_or(|extension| extension != "lock") {
            continue;
        }
        if let Ok(Some(_locked)) = claim(&lock) {
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

/// Removes a folder, then its lock.
pub(crate) fn remove(path: &Path, lock: &Path) {
    shared_memory::give_back(&path.join("data"));
    // What cannot be removed stays in the directory for temporary files.
    let _ = fs::remove_dir_all(path);
    let _ = fs::remove_file(lock);
}
