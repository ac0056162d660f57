//! What a process says about itself unless told otherwise.

use std::sync::OnceLock;

use simba_backends::Metadata;

use crate::clock;

/// The longest host name that is shown, in characters; POSIX allows 255, and metadata has 1,024.
const MAX_HOST: usize = 255;

/// `host=.. pid=.. started=..`: enough to find the process whose session this is.
pub(super) fn description() -> Metadata {
    static DESCRIPTION: OnceLock<Metadata> = OnceLock::new();
    DESCRIPTION.get_or_init(describe).clone()
}

/// The start is when the process first asked: every session of the process tells the same.
fn describe() -> Metadata {
    let system = rustix::system::uname();
    let host: String = system.nodename().to_string_lossy().chars().take(MAX_HOST).collect();
    let started = humantime::format_rfc3339_seconds(clock::wall_clock());
    let text = format!("host={host} pid={} started={started}", std::process::id());
    text.try_into().expect("a bounded host name from a C string is short enough and has no NUL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_tells_host_pid_and_start() {
        let text = describe().to_string();
        let mut words = text.split(' ');
        assert!(words.next().unwrap().len() > "host=".len());
        assert_eq!(words.next(), Some(format!("pid={}", std::process::id()).as_str()));
        let started = words.next().unwrap().strip_prefix("started=").unwrap();
        assert!(humantime::parse_rfc3339(started).is_ok(), "{started}");
        assert_eq!(words.next(), None);
    }

    #[test]
    fn every_session_of_a_process_tells_the_same() {
        assert_eq!(description(), description());
    }
}
