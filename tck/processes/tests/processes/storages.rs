//! Storages that cannot be used: one line that says what to do, and an end.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    process::{Output, Stdio},
    time::Duration,
};

use simba_actors::backends::connect;
use simba_processes::now;
use simba_servers::{APP_PASSWORD, Proxy, ZooKeeper};
use sqlx::Executor;
use tokio::{process::Command, time::timeout};

use crate::scratch::{Scratch, let_go};

/// SQLite waits for 5 s for a file that another process has locked.
const BOUND: Duration = Duration::from_secs(15);

/// A wrong password.
pub(crate) const GUESS: &str = "a-guess-at-it";

/// Whose files the file system protects from everybody but root.
const NOBODY: u32 = 65534;

async fn failover(arguments: &[&str]) -> Output {
    output_of(Command::new(env!("CARGO_BIN_EXE_failover")).args(arguments)).await
}

async fn output_of(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    timeout(BOUND, output).await.expect("it ends within the bound").expect("it starts")
}

pub(crate) async fn refuses(storage: &str, part: &str) {
    let begun = now();
    let output = failover(&["--storage", storage, "--lease", "3"]).await;
    println!("{:>5} ms", (now() - begun).as_millis());
    is_refusal(output, part);
}

/// One line on standard error with that part, nothing on standard output, exit code 1.
fn is_refusal(output: Output, part: &str) {
    let error = String::from_utf8(output.stderr).expect("a message is text");
    println!("{error}");
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("failover: ") && error.contains(part), "{error}");
    assert!(!error.contains(APP_PASSWORD) && !error.contains(GUESS), "a password is shown: {error}");
    assert!(output.stdout.is_empty());
}

#[tokio::test]
async fn a_url_that_names_no_storage() {
    refuses("simba.db", "a storage URL starts with one of").await;
    refuses("", "a storage URL starts with one of").await;
    refuses("carrier-pigeon://loft", "use one of memory:, sqlite:").await;
    refuses("sqlite:", "needs a file").await;
    refuses("sqlite://simba.db?mode=ro", "takes none").await;
}

/// Nobody listens on these ports who is not root.
#[tokio::test]
async fn a_url_that_leads_to_no_redis() {
    for (rest, part) in [
        ("://", "write redis://user:password@host:6379/0"),
        ("://app:GUESS@host:port", "cannot be read"),
        ("://app:GUESS/x@127.0.0.1:1", "write %2F for /"),
        ("://127.0.0.1:1?fast=GUESS", "it takes prefix, wait_replicas"),
        ("://app:GUESS@127.0.0.1:1", "redis at 127.0.0.1:1 cannot be reached"),
        ("+sentinel://app:GUESS@127.0.0.1:1", "host:26379/MASTER"),
        ("+sentinel://app:GUESS@127.0.0.1:1,127.0.0.1:2/main", "cannot be reached"),
        ("+cluster://app:GUESS@127.0.0.1:1/1", "cannot be read"),
        ("+cluster://app:GUESS@127.0.0.1:1,127.0.0.1:2", "redis cluster at 127.0.0.1:1, 127.0.0.1:2"),
        ("+cluster://app:GUESS@127.0.0.1:1?wait_replicas=1", "not available on a cluster"),
    ] {
        refuses(&format!("redis{}", rest.replace("GUESS", GUESS)), part).await;
    }
}

#[tokio::test]
async fn a_url_that_leads_to_no_zookeeper() {
    for (rest, part) in [
        ("", "write zookeeper://host:2181,host:2181/root"),
        ("app:GUESS@host:port", "cannot be read"),
        ("app:GUESS/x@127.0.0.1:1", "write %2F for /"),
        ("GUESS@127.0.0.1:1", "write user:password@host"),
        ("127.0.0.1:1/x,127.0.0.1:2/x", "once, after all hosts"),
        ("127.0.0.1:1?fast=GUESS", "it takes keep_alive"),
        ("127.0.0.1:1?keep_alive=GUESS", "read or write"),
        ("app:GUESS@127.0.0.1:1/zookeeper", "write /simba or the like"),
        ("app:GUESS@127.0.0.1:1,127.0.0.1:2/x", "zookeeper at 127.0.0.1:1,127.0.0.1:2/x cannot be reached"),
    ] {
        refuses(&format!("zookeeper://{}", rest.replace("GUESS", GUESS)), part).await;
    }
}

/// It knows no users of its own: a password is right if it opens what was made with it.
#[tokio::test]
async fn a_zookeeper_whose_nodes_are_somebody_elses() {
    let server = ZooKeeper::start().await;
    let url_with = |password: &str| {
        let host = server.url().trim_start_matches("zookeeper://");
        format!("zookeeper://app:{password}@{host}/shop")
    };
    drop(connect(&url_with(APP_PASSWORD)).await.unwrap());
    refuses(&url_with(GUESS), "/shop/leases of zookeeper").await;
    let way = Proxy::before(server.address()).await;
    way.refuse().await;
    refuses(&way.url(&url_with(APP_PASSWORD)), "cannot be reached").await;
}

#[tokio::test]
async fn a_path_that_cannot_be_written() {
    let scratch = Scratch::new();
    refuses(&scratch.url("no/where.db"), "does not exist: create it").await;
    refuses(&scratch.url(""), "name a file in it").await;
    // Root may write everywhere but here.
    refuses("sqlite:///proc/simba.db", "/proc/simba.db").await;
}

#[tokio::test]
async fn a_file_that_is_no_database() {
    let scratch = Scratch::new();
    fs::write(scratch.path("notes.txt"), "not a database, whatever its name ".repeat(100)).unwrap();
    refuses(&scratch.url("notes.txt"), "is no SQLite database: name another file").await;
}

/// Root may write whatever it wants, so the program runs as nobody then, from where nobody can read it.
#[tokio::test]
async fn a_file_that_may_not_be_written() {
    let scratch = Scratch::new();
    scratch.driver("fixed.db").await.execute("create table t (id integer)").await.unwrap();
    fs::set_permissions(scratch.path("fixed.db"), Permissions::from_mode(0o444)).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_failover"), scratch.path("failover")).unwrap();

    let mut command = Command::new(scratch.path("failover"));
    command.args(["--storage", &scratch.url("fixed.db")]);
    if rustix::process::geteuid().is_root() {
        fs::set_permissions(scratch.directory(), Permissions::from_mode(0o755)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    is_refusal(output_of(&mut command).await, "make it and its directory writable");
}

#[tokio::test]
async fn tables_of_others() {
    let scratch = Scratch::new();
    let mut driver = scratch.driver("foreign.db").await;
    driver.execute("create table simba_session (id integer primary key)").await.unwrap();
    refuses(&scratch.url("foreign.db"), "sql/init-simba-sqlite.sql").await;
}

#[tokio::test]
async fn a_locked_file() {
    let scratch = Scratch::new();
    let lock = scratch.hold("new.db").await;
    refuses(&scratch.url("new.db"), "is locked").await;
    let_go(lock).await;

    // The same for a file that is in use already.
    let mut crew = crate::crew::Crew::of_failover(Duration::from_secs(3));
    let pid = crew.start(&scratch.url("simba.db"));
    crew.hears(pid, "ELECTED").await;
    crew.kill(pid).await;
    let lock = scratch.hold("simba.db").await;
    // Here the call ends sooner than the wait for the file.
    refuses(&scratch.url("simba.db"), "locked by another").await;
    let_go(lock).await;
}

#[tokio::test]
async fn unknown_flags_show_the_usage() {
    for arguments in [&["--fast"][..], &["--lease"], &["--lease", "soon"], &["--name", "a b"], &["now"]] {
        let output = failover(arguments).await;
        let error = String::from_utf8(output.stderr).expect("a message is text");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains("--storage URL"), "{arguments:?}: {error}");
    }
    let help = failover(&["--help"]).await;
    assert!(help.status.success() && help.stderr.is_empty());
    assert!(String::from_utf8(help.stdout).expect("help is text").contains("--storage URL"));
}
