//! A second server that has what the first one committed.

use crate::{
    ADMIN_PASSWORD, Lacking, Postgres, answer::execute, folder::Folder, kit::Kit, process, process::Process,
    wait::until,
};

impl Postgres {
    /// Starts a synchronous standby of this server: from now on each commit waits for it, also while it is away.
    ///
    /// # Errors
    /// Why this server can have none.
    ///
    /// # Panics
    /// If they are not a pair within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, this server may have been told to wait for a standby that is gone.
    pub async fn standby(&self) -> Lacking<Self> {
        let folder = Folder::new(self.instance.own()?.folder().durability());
        folder.make_data();
        self.back_up_to(&folder).await;
        let primary = format!(
            "primary_conninfo = 'host={} port={} user=admin password={ADMIN_PASSWORD}'\n",
            self.address().ip(),
            self.address().port()
        );
        let standby = Self::in_folder(folder, &primary).await;
        self.set("synchronous_standby_names", "*").await?;
        let in_step = "select 1 / count(*) from pg_stat_replication where sync_state = 'sync'";
        until("the standby is in step", || async { execute(self.admin_url(), &[in_step]).await.ok() }).await;
        Ok(standby)
    }

    /// Makes a standby a server of its own, which takes writes when this returns.
    ///
    /// # Errors
    /// Why this server cannot be promoted.
    ///
    /// # Panics
    /// If it was none.
    ///
    /// # Cancel safety
    /// Once polled, the standby may be promoted.
    pub async fn promote(&self) -> Lacking {
        self.instance.own()?;
        self.execute(&["select pg_promote(true, 60)"]).await;
        self.set("synchronous_standby_names", "").await
    }

    async fn back_up_to(&self, folder: &Folder) {
        let log = folder.write("backup", b"");
        let output = std::fs::File::options().append(true).open(&log).expect("the folder is ours");
        let mut command = process::command(&Kit::POSTGRES.program("pg_basebackup"));
        command.arg("-D").arg(folder.data());
        command.args(["-h", &self.address().ip().to_string(), "-p", &self.address().port().to_string()]);
        command.args(["-U", "admin", "-X", "stream", "-R", "-c", "fast", "--no-sync"]);
        command.env("PGPASSWORD", ADMIN_PASSWORD).stderr(output);
        let mut backup = Process::start(command);
        let (backup, log) = (std::cell::RefCell::new(&mut backup), &log);
        let ended = until("a backup", || async { backup.borrow_mut().ended() }).await;
        let said = || std::fs::read_to_string(log).unwrap_or_default();
        assert!(ended.success(), "pg_basebackup failed: {}", said());
    }
}
