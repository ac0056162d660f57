//! What test processes left behind that were killed. Whose lock is free is nobody's.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{ChildStdin, Command, Stdio},
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

/// Before anything is made in there: removes what killed processes left, and has a guard watch this one.
pub(crate) fn prepare_once(base: &Path) {
    static GUARDS: Mutex<BTreeMap<PathBuf, ChildStdin>> = Mutex::new(BTreeMap::new());
    let mut guards = GUARDS.lock().expect("nobody panics while holding it");
    if !guards.contains_key(base) {
        sweep(base);
        guards.insert(base.to_owned(), guard(&base.join(std::process::id().to_string())));
    }
}

/// Starts a process that ends whatever works in our folders once the pipe closes, however this process ends:
/// what is stopped or busy does not notice that PostgreSQL has died. It does nothing if no folder is left.
#[expect(clippy::zombie_processes, reason = "it ends after this process")]
fn guard(prefix: &Path) -> ChildStdin {
    const SCRIPT: &str = r#"
        read -r _
        for lock in "$0"-*.lock; do [ -e "$lock" ] || exit 0; done
        for process in /proc/[0-9]*; do
            case $(readlink "$process/cwd") in "$0"-*) kill -KILL "${process#/proc/}" ;; esac
        done
    "#;
    let mut command = Command::new("sh");
    command.arg("-c").arg(SCRIPT).arg(prefix).current_dir("/").process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut guard = command.spawn().expect("there is a shell");
    guard.stdin.take().expect("it was asked for")
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

/// Kills who works in the folder, in case the guard was killed too, and waits until nobody does.
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
