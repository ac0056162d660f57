//! The example on a server, as users run it: what keeps it from starting, and what it outlives.

use std::time::Duration;

use simba_processes::now;
use simba_servers::{APP_PASSWORD, Proxy};
use tokio::time::sleep;

use crate::{
    crew::{Crew, Line},
    scene::{ELECTION, LEASE, within},
    storage::{Storage, on},
    storages::{GUESS, refuses},
};

on!([postgres, mysql, mariadb, redis] [
    a_server_that_cannot_be_used,
    a_password_and_tables_are_mended_while_a_process_runs,
]);

async fn a_server_that_cannot_be_used(storage: Storage) {
    let wrong = storage.url_with_password(GUESS);
    if let Some(script) = storage.script() {
        refuses(&wrong, "app").await;
        let unknown = format!("{}-of-nobody", storage.url());
        refuses(&unknown, "-of-nobody").await;
        storage.drop_tables().await;
        refuses(&storage.url(), script).await;
    } else {
        refuses(&wrong, "check user and password").await;
        storage.order(&["ACL", "SETUSER", "app", "-evalsha"]).await;
        refuses(&storage.url(), "evalsha").await;
    }
    let way = Proxy::before(storage.address()).await;
    way.refuse().await;
    refuses(&way.url(&storage.url()), "Connection refused").await;
}

async fn a_password_and_tables_are_mended_while_a_process_runs(storage: Storage) {
    let way = Proxy::before(storage.address()).await;
    let mut crew = Crew::of_failover(LEASE);
    let pid = crew.start(&way.url(&storage.url()));
    crew.hears(pid, "ELECTED").await;

    storage.change_password("another").await;
    way.reset().await;
    crew.hears(pid, "REVOKED").await;
    storage.change_password(APP_PASSWORD).await;
    recovers(&mut crew, pid, "the password is mended").await;

    if storage.script().is_some() {
        storage.drop_tables().await;
        crew.hears(pid, "REVOKED").await;
        storage.create_tables().await;
        recovers(&mut crew, pid, "the tables are mended").await;
    }

    crew.signal(pid, rustix::process::Signal::TERM);
    assert!(crew.ended(pid).await.success());
    let shown = |line: &&Line| line.text.contains(APP_PASSWORD);
    assert!(crew.heard().iter().find(shown).is_none(), "it shows its password");
}

async fn recovers(crew: &mut Crew, pid: u32, what: &str) {
    let mended = now();
    let line = crew.hears(pid, "ELECTED").await;
    within(ELECTION, line.at - mended, &format!("{what} -> elected"));
    // Not in step with the keep-alives.
    sleep(Duration::from_millis(300)).await;
}
