//! What MySQL and MariaDB do alike.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    process::{Command, Output},
    time::Duration,
};

use simba_servers::{Flavour, MySql, Offset, Options};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection};
use tokio::time::timeout;

/// Makes a test of each function here, so that it has a name of its own in each flavour.
macro_rules! tests {
    ($flavour:path) => {
        $crate::family::tests! { $flavour:
            what_was_committed_survives_a_kill
            stopped_it_is_silent
            read_only_it_refuses_writes_of_old_and_new_sessions
            its_clock_steps_and_comes_back
            settings_are_taken_and_the_user_is_no_administrator
            a_missing_server_fails_the_test_and_says_which
            a_server_that_runs_already_gives_each_test_a_database
        }
    };
    ($flavour:path: $($name:ident)*) => {
        $(#[tokio::test]
        async fn $name() {
            family::$name($flavour).await;
        })*
    };
}
pub(crate) use tests;

async fn run(connection: &mut MySqlConnection, statement: &str) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(connection).await.map(|_| ())
}

async fn number(url: &str, statement: &str) -> i64 {
    let mut connection = MySqlConnection::connect(url).await.unwrap();
    let number = sqlx::query_scalar(AssertSqlSafe(statement)).fetch_one(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    number
}

fn code(error: &sqlx::Error) -> u16 {
    let error = error.as_database_error().unwrap_or_else(|| panic!("the server did not say: {error}"));
    error.downcast_ref::<sqlx::mysql::MySqlDatabaseError>().number()
}

pub(crate) async fn what_was_committed_survives_a_kill(flavour: Flavour) {
    let mysql = MySql::start(flavour).await;
    let mut app = MySqlConnection::connect(mysql.url()).await.unwrap();
    run(&mut app, "create table t (n bigint)").await.unwrap();
    run(&mut app, "insert into t values (7)").await.unwrap();
    mysql.kill().await.unwrap();
    assert!(mysql.pid().is_none());
    assert!(run(&mut app, "select 1").await.is_err(), "the session ended with the server");
    assert!(MySqlConnection::connect(mysql.url()).await.is_err(), "nobody listens");
    mysql.start_again().await.unwrap();
    assert_eq!(number(mysql.url(), "select n from t").await, 7);
}

pub(crate) async fn stopped_it_is_silent(flavour: Flavour) {
    let mysql = MySql::start(flavour).await;
    let mut app = MySqlConnection::connect(mysql.url()).await.unwrap();
    mysql.stop().unwrap();
    {
        let mut asked = Box::pin(run(&mut app, "select 2"));
        assert!(timeout(Duration::from_millis(300), &mut asked).await.is_err());
        mysql.resume().unwrap();
        asked.await.unwrap();
    }
    run(&mut app, "select 3").await.unwrap();
}

pub(crate) async fn read_only_it_refuses_writes_of_old_and_new_sessions(flavour: Flavour) {
    let mysql = MySql::start(flavour).await;
    let mut old = MySqlConnection::connect(mysql.url()).await.unwrap();
    run(&mut old, "create table t (n bigint)").await.unwrap();
    mysql.read_only().await.unwrap();
    assert_eq!(code(&run(&mut old, "insert into t values (1)").await.unwrap_err()), 1290);
    let mut new = MySqlConnection::connect(mysql.url()).await.unwrap();
    assert_eq!(code(&run(&mut new, "insert into t values (2)").await.unwrap_err()), 1290);
    mysql.read_write().await.unwrap();
    run(&mut old, "insert into t values (3)").await.unwrap();
    assert_eq!(number(mysql.url(), "select count(*) from t").await, 1);
}

pub(crate) async fn its_clock_steps_and_comes_back(flavour: Flavour) {
    const NOW: &str = "select cast(unix_timestamp(sysdate()) as signed)";
    let mysql = MySql::start(flavour).await;
    let before = number(mysql.url(), NOW).await;
    let off = |now: i64| (now - before) / 60;
    mysql.step_clock(Offset::Ahead(Duration::from_secs(3600))).unwrap();
    assert_eq!(off(number(mysql.url(), NOW).await), 60);
    mysql.step_clock(Offset::Behind(Duration::from_secs(3600))).unwrap();
    assert_eq!(off(number(mysql.url(), NOW).await + 30), -59);
    mysql.step_clock(Offset::None).unwrap();
    assert_eq!(off(number(mysql.url(), NOW).await), 0);
}

pub(crate) async fn settings_are_taken_and_the_user_is_no_administrator(flavour: Flavour) {
    let options = Options::new().set("innodb_lock_wait_timeout", "7").durable();
    let mysql = MySql::with(flavour, options).await;
    assert_eq!(mysql.flavour(), flavour);
    const SET: &str =
        "select cast(@@innodb_lock_wait_timeout * 10 + (@@innodb_flush_method <> 'nosync') as signed)";
    assert_eq!(number(mysql.url(), SET).await, 71);
    let mut app = MySqlConnection::connect(mysql.url()).await.unwrap();
    assert_eq!(code(&run(&mut app, "create user other").await.unwrap_err()), 1227);
    let wrong = mysql.url().replace(simba_servers::APP_PASSWORD, "guess");
    assert_eq!(code(&MySqlConnection::connect(&wrong).await.unwrap_err()), 1045);
}

/// Runs one test in a process of its own, with that variable.
fn this_again(test: &str, variable: &str, value: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(variable, value).output().unwrap()
}

/// It runs twice: here, and in a process that looks for its servers where none are.
pub(crate) async fn a_missing_server_fails_the_test_and_says_which(flavour: Flavour) {
    const NOWHERE: &str = "/proc/self/fdinfo";
    if std::env::var("TMPDIR").is_ok_and(|folder| folder == NOWHERE) {
        MySql::start(flavour).await;
        return;
    }
    let failed = this_again("a_missing_server_fails_the_test_and_says_which", "TMPDIR", NOWHERE);
    let program = match flavour {
        Flavour::MySql => "mysqld",
        Flavour::MariaDb => "mariadbd",
    };
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success());
    assert!(said.contains(&format!("{program} is not there: run `tck/run --prepare`")), "{said}");
}

/// It runs twice: here it starts the server, and in a process that is told of it it uses it.
pub(crate) async fn a_server_that_runs_already_gives_each_test_a_database(flavour: Flavour) {
    let variable = match flavour {
        Flavour::MySql => "SIMBA_TCK_MYSQL_URL",
        Flavour::MariaDb => "SIMBA_TCK_MARIADB_URL",
    };
    let mysql = MySql::start(flavour).await;
    let mut app = MySqlConnection::connect(mysql.url()).await.unwrap();
    run(&mut app, "create table t (n bigint)").await.unwrap();
    if std::env::var_os(variable).is_some() {
        let other = MySql::start(flavour).await;
        assert_eq!(other.address(), mysql.address());
        assert_eq!(number(mysql.admin_url(), "select count(*) from t").await, 0);
        assert_eq!(code(&run(&mut app, "create user other").await.unwrap_err()), 1227);
        assert!(other.kill().await.is_err() && other.read_only().await.is_err() && other.pid().is_none());
        return;
    }
    let used =
        this_again("a_server_that_runs_already_gives_each_test_a_database", variable, mysql.admin_url());
    assert!(used.status.success(), "{used:?}");
    const MADE: &str = "select count(*) from information_schema.schemata where schema_name like 'simba%'";
    assert_eq!(number(mysql.admin_url(), MADE).await, 2, "one for each start");
}
