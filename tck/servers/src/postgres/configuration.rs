//! `postgresql.conf`, where later settings win and `alter system` wins over all.

use std::{fmt::Write as _, fs::File, io::Write as _};

use crate::{Options, folder::Folder, options::Durability};

/// Small; everything of it inside of its folder, where it goes with it.
const USUAL: &str = "
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
dynamic_shared_memory_type = mmap
shared_buffers = 32MB
max_connections = 300
wal_level = replica
";

const FAST: &str = "
fsync = off
full_page_writes = off
";

pub(super) fn of(options: &Options) -> String {
    let mut text = USUAL.to_owned();
    match options.durability {
        Durability::Process => text.push_str(FAST),
        Durability::Machine => {}
    }
    for (name, value) in &options.settings {
        writeln!(text, "{name} = '{}'", value.replace('\'', "''")).expect("memory takes what is written");
    }
    text
}

pub(super) fn append(folder: &Folder, text: &str) {
    let file = File::options().append(true).open(folder.data().join("postgresql.conf"));
    file.and_then(|mut file| file.write_all(text.as_bytes())).expect("a data folder has a configuration");
}
