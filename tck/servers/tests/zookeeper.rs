//! ZooKeeper does what its verbs say.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod session;

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Output, Stdio},
    time::Duration,
};

use simba_servers::{Offset, Options, ZooKeeper, ZooKeeperMode};
use tokio::time::{sleep, timeout};

use session::{Kind, Session, number, text};

const BOUND: Duration = Duration::from_secs(30);

/// What somebody asks who tells who he is, and what the server answers whom it does not let.
const ADD_AUTH: i32 = 100;
const NO_AUTH: i32 = -102;

#[tokio::test]
async fn what_was_written_survives_a_kill_and_so_do_sessions() {
    let zookeeper = ZooKeeper::start().await;
    let mut app = Session::open(zookeeper.address(), 10_000).await.unwrap();
    app.create("/a", Kind::Persistent).await.unwrap().unwrap();
    app.create("/a/b", Kind::Ephemeral).await.unwrap().unwrap();
    zookeeper.kill().await.unwrap();
    assert!(zookeeper.pid().is_none());
    assert!(app.watch("/a").await.is_err(), "the connection ended with the server");
    assert!(zookeeper.four_letter_word("srvr").await.is_err(), "nobody listens");
    assert_eq!(zookeeper.mode().await, None);
    zookeeper.start_again().await.unwrap();
    assert_eq!(zookeeper.mode().await, Some(ZooKeeperMode::Standalone));
    assert_eq!(zookeeper.ephemerals().await[&app.id], ["/a/b"]);
    let mut other = Session::open(zookeeper.address(), 10_000).await.unwrap();
    assert!(other.watch("/a").await.unwrap());
}

#[tokio::test]
async fn stopped_it_is_silent() {
    let zookeeper = ZooKeeper::start().await;
    zookeeper.stop().unwrap();
    let mut asked = Box::pin(zookeeper.four_letter_word("ruok"));
    assert!(timeout(Duration::from_millis(300), &mut asked).await.is_err());
    zookeeper.resume().unwrap();
    assert_eq!(asked.await.unwrap(), "imok");
}

/// When a connection was made stands in its line by the wall clock.
#[tokio::test]
async fn its_clock_steps_and_comes_back() {
    let zookeeper = ZooKeeper::start().await;
    let established = async || -> i64 {
        let app = Session::open(zookeeper.address(), 10_000).await.unwrap();
        let connections = zookeeper.four_letter_word("cons").await.unwrap();
        let own = connections.lines().find(|line| line.contains(&format!("sid={:#x},", app.id))).unwrap();
        own.split_once("est=").unwrap().1.split_once(',').unwrap().0.parse().unwrap()
    };
    let before = established().await;
    for (offset, minutes) in [
        (Offset::Ahead(Duration::from_secs(3600)), 60),
        (Offset::Behind(Duration::from_secs(3600)), -60),
        (Offset::None, 0),
    ] {
        zookeeper.step_clock(offset).unwrap();
        let now = established().await;
        assert!((now - before - minutes * 60_000).abs() < 30_000, "{offset:?}: {before} became {now}");
    }
}

#[tokio::test]
async fn settings_are_taken() {
    let options = Options::new()
        .set("maxSessionTimeout", "70000")
        .set("tickTime", "700")
        .set("znode.container.checkIntervalMs", "500");
    let zookeeper = ZooKeeper::with(options.durable()).await;
    let settings = zookeeper.four_letter_word("conf").await.unwrap();
    for setting in ["tickTime=700", "minSessionTimeout=1400", "maxSessionTimeout=70000", "maxClientCnxns=0"] {
        assert!(settings.lines().any(|line| line == setting), "{setting}: {settings}");
    }
    let process = format!("/proc/{}", zookeeper.pid().unwrap());
    let command = fs::read_to_string(format!("{process}/cmdline")).unwrap();
    assert!(command.contains("\0-Dznode.container.checkIntervalMs=500\0"), "{command}");
    let file = fs::read_to_string(format!("{process}/cwd/zoo.cfg")).unwrap();
    assert!(file.contains("\nforceSync=yes\n"), "{file}");
}

#[tokio::test]
async fn rights_hold_for_all_but_the_administrator() {
    let zookeeper = ZooKeeper::start().await;
    assert_eq!(zookeeper.url(), format!("zookeeper://{}", zookeeper.address()));
    let mut app = Session::open(zookeeper.address(), 10_000).await.unwrap();
    app.create_for("/a", Kind::Persistent, "digest", "somebody:else").await.unwrap().unwrap();
    assert_eq!(app.create("/a/b", Kind::Persistent).await.unwrap(), Err(NO_AUTH));
    let user = zookeeper.admin_url().strip_prefix("zookeeper://").unwrap().split_once('@').unwrap().0;
    let user = [number(0), text("digest"), text(user)].concat();
    app.ask(ADD_AUTH, &user).await.unwrap().unwrap();
    app.create("/a/b", Kind::Persistent).await.unwrap().unwrap();
}

#[tokio::test]
async fn it_tells_who_is_there_until_a_session_expires() {
    let zookeeper = ZooKeeper::start().await;
    let mut app = Session::open(zookeeper.address(), 1000).await.unwrap();
    let received = zookeeper.received().await;
    app.create("/a", Kind::Persistent).await.unwrap().unwrap();
    app.create("/a/b", Kind::Ephemeral).await.unwrap().unwrap();
    assert!(app.watch("/a/b").await.unwrap() && !app.watch("/c").await.unwrap());
    let own = BTreeSet::from([app.id]);
    assert_eq!(zookeeper.sessions().await, own);
    assert_eq!(zookeeper.connected().await, [(app.id, 5)].into());
    assert_eq!(zookeeper.ephemerals().await, [(app.id, vec!["/a/b".to_owned()])].into());
    assert_eq!(zookeeper.watches().await, ["/a/b", "/c"].map(|path| (path.to_owned(), own.clone())).into());
    assert!(zookeeper.received().await >= received + 4);
    assert_eq!(zookeeper.metrics().await["zk_ephemerals_count"], "1");
    drop(app);
    let expired = async {
        while !zookeeper.sessions().await.is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(BOUND, expired).await.unwrap();
    assert!(zookeeper.ephemerals().await.is_empty() && zookeeper.watches().await.is_empty());
    assert!(zookeeper.connected().await.is_empty());
}

#[tokio::test]
async fn over_tls_it_shows_a_certificate_of_its_authority() {
    let zookeeper = ZooKeeper::with_tls(Options::new()).await;
    let ask = |more: &[&str]| {
        let address = zookeeper.address().to_string();
        let mut command = Command::new("openssl");
        command.args(["s_client", "-verify_return_error", "-connect", &address]).args(more);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let authority = ZooKeeper::authority().display().to_string();
    let answered = ask(&["-verify_ip", "127.0.0.1", "-CAfile", &authority]);
    assert!(answered.status.success(), "{answered:?}");
    assert!(!ask(&[]).status.success(), "nobody else knows the authority");
    assert_eq!(zookeeper.mode().await, Some(ZooKeeperMode::Standalone));
}

#[tokio::test]
async fn with_sasl_it_can_refuse_who_says_nothing() {
    let options = Options::new().set("sessionRequireClientSASLAuth", "true");
    let zookeeper = ZooKeeper::with_sasl(options).await;
    let mut nobody = Session::open(zookeeper.address(), 10_000).await.unwrap();
    assert!(!matches!(nobody.create("/a", Kind::Persistent).await, Ok(Ok(()))));
    assert!(zookeeper.url().starts_with("zookeeper://app:"));
}

#[tokio::test]
async fn nothing_is_left_of_it() {
    let zookeeper = ZooKeeper::start().await;
    let (address, process) = (zookeeper.address(), format!("/proc/{}", zookeeper.pid().unwrap()));
    let folder = fs::read_link(format!("{process}/cwd")).unwrap();
    assert!(folder.join("data/version-2").exists());
    drop(zookeeper);
    assert!(!folder.exists() && !fs::exists(process).unwrap());
    assert!(Session::open(address, 10_000).await.is_err());
}

/// Runs one test in a process of its own, with that variable.
fn this_again(test: &str, variable: &str, value: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(variable, value).output().unwrap()
}

/// It runs twice: here it starts the server, and in a process that is told of it it uses it.
#[tokio::test]
async fn a_server_that_runs_already_gives_each_test_a_root() {
    const VARIABLE: &str = "SIMBA_TCK_ZOOKEEPER_URL";
    const THIS: &str = "a_server_that_runs_already_gives_each_test_a_root";
    let zookeeper = ZooKeeper::start().await;
    let mut app = Session::open(zookeeper.address(), 10_000).await.unwrap();
    if std::env::var_os(VARIABLE).is_some() {
        let other = ZooKeeper::start().await;
        assert_eq!(other.address(), zookeeper.address());
        let roots = [&zookeeper, &other].map(|one| one.url().rsplit_once('/').unwrap().1);
        assert!(roots[0] != roots[1] && other.admin_url().ends_with(roots[1]));
        for root in roots {
            app.create(&format!("/{root}/a"), Kind::Persistent).await.unwrap().unwrap();
        }
        assert!(other.kill().await.is_err() && other.stop().is_err() && other.pid().is_none());
        return;
    }
    let used = this_again(THIS, VARIABLE, zookeeper.admin_url());
    assert!(used.status.success(), "{used:?}");
    // One is there from the start, and one is ZooKeeper's own with two in it.
    assert_eq!(zookeeper.metrics().await["zk_znode_count"], "9");
}

/// Not a test: the process that is killed.
#[tokio::test]
async fn process() {
    if std::env::var_os("SIMBA_SERVERS_TASK").is_none() {
        return;
    }
    let zookeeper = ZooKeeper::start().await;
    zookeeper.stop().unwrap();
    println!("server: {}", zookeeper.pid().unwrap());
    std::future::pending().await
}

#[tokio::test]
async fn a_server_that_is_stopped_ends_with_the_process_that_started_it() {
    use std::io::{BufRead, BufReader};
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["process", "--exact", "--nocapture"])
        .env("SIMBA_SERVERS_TASK", "stop")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let pid = lines.find_map(|line| Some(line.split_once("server: ")?.1.to_owned())).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let gone = async {
        // Whoever became its parent may be slow to notice.
        while fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(BOUND, gone).await.unwrap();
}
