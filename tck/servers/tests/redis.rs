//! Redis does what its verbs say.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod user;

use std::{
    process::{Command, Output},
    time::Duration,
};

use redis::{FromRedisValue, RedisResult, Value};
use simba_servers::{LostReply, Offset, Options, Proxy, Redis};
use tokio::time::{sleep, timeout};

use user::{ask, open};

fn code<T: std::fmt::Debug>(answer: RedisResult<T>) -> String {
    answer.unwrap_err().code().unwrap().to_owned()
}

#[tokio::test]
async fn what_was_written_survives_a_kill() {
    let redis = Redis::start().await;
    let mut app = open(redis.url()).await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    redis.kill().await.unwrap();
    assert!(redis.pid().is_none());
    assert!(ask::<Value>(&mut app, "PING").await.is_err(), "the connection ended with the server");
    assert!(open(redis.url()).await.is_err(), "nobody listens");
    redis.start_again().await.unwrap();
    let mut app = open(redis.url()).await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "GET simba:a").await.unwrap(), 7);
}

#[tokio::test]
async fn stopped_it_is_silent() {
    let redis = Redis::start().await;
    let mut app = open(redis.url()).await.unwrap();
    redis.stop().unwrap();
    {
        let mut asked = Box::pin(ask::<String>(&mut app, "PING"));
        assert!(timeout(Duration::from_millis(300), &mut asked).await.is_err());
        redis.resume().unwrap();
        assert_eq!(asked.await.unwrap(), "PONG");
    }
    assert_eq!(ask::<String>(&mut app, "PING").await.unwrap(), "PONG");
}

#[tokio::test]
async fn read_only_it_refuses_writes_of_old_and_new_connections() {
    let redis = Redis::start().await;
    let mut old = open(redis.url()).await.unwrap();
    let () = ask(&mut old, "SET simba:a 7").await.unwrap();
    redis.read_only().await.unwrap();
    assert_eq!(code(ask::<Value>(&mut old, "SET simba:a 8").await), "READONLY");
    let mut new = open(redis.url()).await.unwrap();
    assert_eq!(code(ask::<Value>(&mut new, "SET simba:a 9").await), "READONLY");
    assert_eq!(ask::<i64>(&mut new, "GET simba:a").await.unwrap(), 7);
    redis.read_write().await.unwrap();
    let () = ask(&mut old, "SET simba:a 10").await.unwrap();
}

#[tokio::test]
async fn its_clock_steps_and_comes_back() {
    let redis = Redis::start().await;
    let mut app = open(redis.url()).await.unwrap();
    let (before, _): (i64, i64) = ask(&mut app, "TIME").await.unwrap();
    for (offset, minutes) in [
        (Offset::Ahead(Duration::from_secs(3600)), 60),
        (Offset::Behind(Duration::from_secs(3600)), -60),
        (Offset::None, 0),
    ] {
        redis.step_clock(offset).unwrap();
        let (now, _): (i64, i64) = ask(&mut app, "TIME").await.unwrap();
        assert!((now - before - minutes * 60).abs() < 30, "{offset:?}: {before} became {now}");
    }
}

/// Redis looks at a key's end by its wall clock.
#[tokio::test]
async fn a_key_ends_when_its_clock_steps() {
    let redis = Redis::start().await;
    let mut app = open(redis.url()).await.unwrap();
    let () = ask(&mut app, "SET simba:a 7 PX 60000").await.unwrap();
    redis.step_clock(Offset::Ahead(Duration::from_secs(61))).unwrap();
    assert_eq!(ask::<Option<i64>>(&mut app, "GET simba:a").await.unwrap(), None);
}

#[tokio::test]
async fn settings_are_taken_and_the_user_is_no_administrator() {
    let redis = Redis::with(Options::new().set("maxmemory", "7mb").durable()).await;
    let setting = async |name: &str| {
        let found = redis.execute(&["CONFIG", "GET", name]).await.unwrap();
        <(String, String)>::from_redis_value(found).unwrap().1
    };
    assert_eq!(setting("maxmemory").await, "7340032");
    assert_eq!(setting("appendfsync").await, "always");
    let mut app = open(redis.url()).await.unwrap();
    for allowed in [
        "SET simba:a 7",
        "EVAL return{redis.call('TIME'),redis.call('GET',KEYS[1])} 1 simba:a",
        "SCRIPT LOAD return",
        "PUBLISH simba:a 7",
        "WAIT 0 1",
        "ROLE",
        "INFO replication",
    ] {
        ask::<Value>(&mut app, allowed).await.unwrap();
    }
    for forbidden in
        ["KEYS *", "FLUSHALL", "CONFIG GET *", "ACL LIST", "GET other", "PUBLISH other 7", "DEBUG SLEEP 0"]
    {
        assert_eq!(code(ask::<Value>(&mut app, forbidden).await), "NOPERM", "{forbidden}");
    }
    ask::<Value>(&mut app, "SUBSCRIBE simba:a").await.unwrap();
    let wrong = redis.url().replace(simba_servers::APP_PASSWORD, "guess");
    assert!(open(&wrong).await.is_err());
    let nobody = format!("redis://{}", redis.address());
    assert_eq!(code(ask::<Value>(&mut open(&nobody).await.unwrap(), "PING").await), "NOAUTH");
}

#[tokio::test]
async fn a_replica_has_what_was_written_unless_its_way_is_cut() {
    let primary = Redis::start().await;
    let replica = primary.replica().await.unwrap();
    assert!(primary.link().is_err());
    let link = replica.link().unwrap();
    let mut app = open(primary.url()).await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 0").await.unwrap(), 1);
    let mut other = open(replica.url()).await.unwrap();
    assert_eq!(ask::<i64>(&mut other, "GET simba:a").await.unwrap(), 7);
    assert_eq!(code(ask::<Value>(&mut other, "SET simba:a 8").await), "READONLY");
    link.black_hole().await;
    let () = ask(&mut app, "SET simba:a 9").await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 200").await.unwrap(), 0);
    assert_eq!(ask::<i64>(&mut other, "GET simba:a").await.unwrap(), 7);
    link.heal().await;
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 0").await.unwrap(), 1);
    link.refuse().await;
    let () = ask(&mut app, "SET simba:a 10").await.unwrap();
    primary.kill().await.unwrap();
    replica.read_write().await.unwrap();
    assert_eq!(ask::<i64>(&mut other, "INCR simba:a").await.unwrap(), 10, "the last write is lost");
}

#[tokio::test]
async fn replicas_that_are_refused_come_back_when_they_are_accepted() {
    let primary = Redis::start().await;
    let _replica = primary.replica().await.unwrap();
    let mut app = open(primary.url()).await.unwrap();
    primary.refuse_replicas().await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 2000").await.unwrap(), 0);
    primary.accept_replicas().await.unwrap();
    assert_eq!(ask::<i64>(&mut app, "WAIT 1 0").await.unwrap(), 1);
}

#[tokio::test]
async fn through_a_proxy_a_write_whose_reply_is_lost_has_happened() {
    let redis = Redis::start().await;
    let proxy = Proxy::before(redis.address()).await;
    let mut app = open(&proxy.url(redis.url())).await.unwrap();
    proxy.lose_replies(LostReply::Reset).await;
    assert!(ask::<Value>(&mut app, "SET simba:a 7").await.is_err());
    let mut other = open(redis.url()).await.unwrap();
    assert_eq!(ask::<i64>(&mut other, "GET simba:a").await.unwrap(), 7);
}

#[tokio::test]
async fn over_tls_it_shows_a_certificate_of_its_authority() {
    let redis = Redis::with_tls(Options::new()).await;
    let ping = |more: &[&str]| {
        let mut command = Command::new("redis-cli");
        command.args(["-u", redis.url(), "--no-auth-warning"]).args(more).arg("PING").output().unwrap()
    };
    let authority = Redis::authority().display().to_string();
    let answered = ping(&["--cacert", &authority]);
    assert_eq!(String::from_utf8_lossy(&answered.stdout).trim(), "PONG", "{answered:?}");
    assert!(!ping(&[]).status.success(), "nobody else knows the authority");
    assert_eq!(redis.execute(&["PING"]).await.unwrap(), Value::SimpleString("PONG".into()));
}

/// Runs one test in a process of its own, with that variable.
fn this_again(test: &str, variable: &str, value: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(variable, value).output().unwrap()
}

/// It runs twice: here, and in a process that looks for its servers where none are.
#[tokio::test]
async fn a_missing_server_fails_the_test_and_says_which() {
    const NOWHERE: &str = "/proc/self/fdinfo";
    if std::env::var("TMPDIR").is_ok_and(|folder| folder == NOWHERE) {
        Redis::start().await;
        return;
    }
    let failed = this_again("a_missing_server_fails_the_test_and_says_which", "TMPDIR", NOWHERE);
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success());
    assert!(said.contains("redis-server is not there: run `tck/run --prepare`"), "{said}");
}

/// It runs twice: here it starts the server, and in a process that is told of it it uses it.
#[tokio::test]
async fn a_server_that_runs_already_gives_each_test_a_database() {
    const VARIABLE: &str = "SIMBA_TCK_REDIS_URL";
    const THIS: &str = "a_server_that_runs_already_gives_each_test_a_database";
    let redis = Redis::start().await;
    let mut app = open(redis.url()).await.unwrap();
    let () = ask(&mut app, "SET simba:a 7").await.unwrap();
    if std::env::var_os(VARIABLE).is_some() {
        let other = Redis::start().await;
        assert_eq!(other.address(), redis.address());
        let mut same = open(redis.admin_url()).await.unwrap();
        assert_eq!(ask::<i64>(&mut same, "GET simba:a").await.unwrap(), 7);
        let mut new = open(other.url()).await.unwrap();
        assert_eq!(ask::<Option<i64>>(&mut new, "GET simba:a").await.unwrap(), None);
        assert_eq!(code(ask::<Value>(&mut new, "FLUSHDB").await), "NOPERM");
        assert!(other.kill().await.is_err() && other.read_only().await.is_err() && other.pid().is_none());
        return;
    }
    for _ in 0..2 {
        let used = this_again(THIS, VARIABLE, redis.admin_url());
        assert!(used.status.success(), "{used:?}");
    }
    assert_eq!(ask::<i64>(&mut app, "GET simba:a").await.unwrap(), 7, "the first database is not of tests");
    let keys = redis.execute(&["INFO", "keyspace"]).await.unwrap();
    let keys = String::from_redis_value(keys).unwrap();
    assert!(keys.contains("db1:keys=2") && keys.contains("db2:keys=1") && !keys.contains("db3"), "{keys}");
}

/// Not a test: the process that is killed.
#[tokio::test]
async fn process() {
    if std::env::var_os("SIMBA_SERVERS_TASK").is_none() {
        return;
    }
    let redis = Redis::start().await;
    redis.stop().unwrap();
    println!("server: {}", redis.pid().unwrap());
    std::future::pending().await
}

#[tokio::test]
async fn a_server_that_is_stopped_ends_with_the_process_that_started_it() {
    use std::io::{BufRead, BufReader};
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["process", "--exact", "--nocapture"])
        .env("SIMBA_SERVERS_TASK", "stop")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let pid = lines.find_map(|line| Some(line.split_once("server: ")?.1.to_owned())).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let gone = async {
        // Whoever became its parent may be slow to notice.
        while std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z ")) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(30), gone).await.unwrap();
}
