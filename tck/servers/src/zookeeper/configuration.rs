//! `zoo.cfg`, where later settings win, and properties of the virtual machine.

use std::{fmt::Write as _, path::Path};

use crate::{Options, kit::Kit, options::Durability};

/// A name and its value.
pub(super) type Setting = (String, String);

/// Settings whose names begin so are no lines of `zoo.cfg`.
const PROPERTIES: [&str; 3] = ["java.", "jute.", "znode."];

/// How a process is started.
pub(super) struct Configuration {
    /// `zoo.cfg`.
    pub(super) text: String,
    /// Arguments of the virtual machine.
    pub(super) arguments: Vec<String>,
}

/// What is as usual, then what makes a server special, then what was asked for.
pub(super) fn of(options: &Options, special: Vec<Setting>, data: &Path, port: u16) -> Configuration {
    let mut made = Configuration { text: usual(options.durability, data, port), arguments: Vec::new() };
    made.add(setting("znode.container.checkIntervalMs", "1000"));
    for each in special.into_iter().chain(options.settings.iter().cloned()) {
        made.add(each);
    }
    made
}

/// One setting.
pub(super) fn setting(name: &str, value: &str) -> Setting {
    (name.into(), value.into())
}

impl Configuration {
    fn add(&mut self, (name, value): Setting) {
        if PROPERTIES.iter().any(|prefix| name.starts_with(prefix)) {
            self.arguments.push(format!("-D{name}={value}"));
        } else {
            writeln!(self.text, "{name}={value}").expect("memory takes what is written");
        }
    }
}

/// Who finds no leader asks the others again after some time, and after twice that the next time: for up to a
/// minute, if it were not said otherwise, it would not notice that the way to them has been mended.
fn usual(durability: Durability, data: &Path, port: u16) -> String {
    let force_sync = match durability {
        Durability::Process => "no",
        Durability::Machine => "yes",
    };
    let administrator = std::fs::read_to_string(Kit::ZOOKEEPER.file("administrator"));
    let administrator = administrator.expect("it was made beside the programs");
    format!(
        "tickTime=500
initLimit=10
syncLimit=4
dataDir={}
clientPort={port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
extendedTypesEnabled=true
forceSync={force_sync}
fastleader.maxNotificationInterval=500
DigestAuthenticationProvider.superDigest=admin:{}
",
        data.display(),
        administrator.trim(),
    )
}
