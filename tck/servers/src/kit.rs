//! What `tck/servers/install` prepared.

use std::path::{Path, PathBuf};

/// Where everything of the servers is; `install` has the same two names.
pub(crate) fn base() -> PathBuf {
    std::env::temp_dir().join("simba-servers")
}

const KIT: &str = "kit-2";

/// The shim that moves the wall clock of the process that has it in `LD_PRELOAD`: by as many nanoseconds as the
/// file that `STEPCLOCK_FILE` names says in its first 8 bytes, in the machine's byte order.
pub fn clock_shim() -> PathBuf {
    base().join(KIT).join("stepclock.so")
}

/// One kind of server: its programs and its data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kit {
    name: &'static str,
    program: &'static str,
}

impl Kit {
    pub(crate) const POSTGRES: Self = Self { name: "postgres", program: "postgres" };
    pub(crate) const PGBOUNCER: Self = Self { name: "pgbouncer", program: "pgbouncer" };
    pub(crate) const MYSQL: Self = Self { name: "mysql", program: "mysqld" };
    pub(crate) const MARIADB: Self = Self { name: "mariadb", program: "mariadbd" };
    pub(crate) const REDIS: Self = Self { name: "redis", program: "redis-server" };
    pub(crate) const ZOOKEEPER: Self = Self { name: "zookeeper", program: "zookeeper" };

    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    /// The server's own program.
    ///
    /// # Panics
    /// If the server was not prepared.
    pub(crate) fn server(self) -> PathBuf {
        self.program(self.program)
    }

    /// A program that came with it.
    ///
    /// # Panics
    /// If the server was not prepared.
    pub(crate) fn program(self, program: &str) -> PathBuf {
        let at = self.root().join("bin").join(program);
        let ready = self.root().join("ready").exists();
        assert!(ready && at.exists(), "{program} is not there: run `tck/run --prepare`");
        at
    }

    /// The data folder to copy.
    pub(crate) fn data(self) -> PathBuf {
        self.root().join("data")
    }

    /// What was made beside the programs.
    pub(crate) fn file(self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn root(self) -> PathBuf {
        base().join(KIT).join(self.name)
    }
}

/// Servers refuse to run as root, so they run as nobody where we are root.
pub(crate) fn server_user() -> Option<u32> {
    rustix::process::geteuid().is_root().then_some(65534)
}

/// Gives what root made to the servers.
pub(crate) fn hand_over(path: &Path) {
    if let Some(user) = server_user() {
        std::os::unix::fs::chown(path, Some(user), Some(user)).expect("root gives away what it made");
    }
}
