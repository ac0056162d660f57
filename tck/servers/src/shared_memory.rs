//! What the kernel keeps of a PostgreSQL that was killed: one segment, of which it has 4096 for everybody.

use std::{fs, path::Path, process::Command};

/// Gives it back, given the data folder of a server that is gone.
pub(crate) fn give_back(data: &Path) {
    if let Some((key, id)) = named_in(data)
        && is_unused(key, id)
    {
        // Whoever cannot do this has made no segments, or has to live with them.
        let _ = Command::new("ipcrm").args(["-m", &id.to_string()]).status();
    }
}

/// Its key and its number, from the seventh line of the file that a server leaves behind if it was killed.
fn named_in(data: &Path) -> Option<(i64, i64)> {
    let file = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let mut words = file.lines().nth(6)?.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// Whether there is still that segment and no process has it.
fn is_unused(key: i64, id: i64) -> bool {
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    segments.lines().skip(1).any(|line| {
        let numbers: Vec<i64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        numbers.first() == Some(&key) && numbers.get(1) == Some(&id) && numbers.get(6) == Some(&0)
    })
}
