//! A logical database of a server that runs already. It has few, so they are used again.

use std::fs::{self, File};

use redis::{RedisResult, Value};

use super::{BOUND, command, configuration::RIGHTS};
use crate::{APP_PASSWORD, external, instance::Instance, kit, wait::until};

/// As many as a server has that was not told otherwise.
const DATABASES: u32 = 16;

/// A key in each database that the tests may empty.
const MARK: &str = "tests-of-simba";

/// Ours until it is dropped: by a lock that all tests of this machine know.
#[derive(Debug)]
pub(super) struct Database {
    number: u32,
    _locked: File,
}

/// Gives an empty database of such a server, and a user to whom what begins with `simba:` belongs.
///
/// # Panics
/// If the URL does not lead to an administrator, or if no database is free for a minute.
pub(super) async fn of_its_own(url: &str) -> (Instance, Database) {
    let (before, host) = external::around_host(url);
    let made = make_user(url).await;
    made.unwrap_or_else(|error| panic!("the server that was named has no user `app`, nor can it: {error}"));
    let root = format!("{before}{host}");
    let what = "one of the databases of the Redis that was named is free, and has no keys but of tests";
    let database = until(what, || find(&root, host)).await;
    let scheme = before.split_once("://").expect("a URL has a scheme").0;
    let number = database.number;
    let instance = Instance {
        address: external::address_of(url),
        url: format!("{scheme}://app:{APP_PASSWORD}@{host}/{number}"),
        admin_url: format!("{root}/{number}"),
        server: None,
    };
    (instance, database)
}

async fn make_user(url: &str) -> RedisResult<()> {
    if command(url, &["ACL", "GETUSER", "app"], BOUND).await? != Value::Nil {
        return Ok(());
    }
    let password = format!(">{APP_PASSWORD}");
    let words = ["ACL", "SETUSER", "app", "on", &password].into_iter().chain(RIGHTS.split_whitespace());
    command(url, &words.collect::<Vec<_>>(), BOUND).await.map(|_| ())
}

async fn find(root: &str, host: &str) -> Option<Database> {
    let locks = kit::base().join("databases");
    fs::create_dir_all(&locks).unwrap_or_else(|error| panic!("{}: {error}", locks.display()));
    for number in 0..DATABASES {
        let Ok(locked) = File::create(locks.join(format!("{host}-{number}"))) else { continue };
        if locked.try_lock().is_ok() && empty(&format!("{root}/{number}")).await.is_ok_and(|empty| empty) {
            return Some(Database { number, _locked: locked });
        }
    }
    None
}

/// Empties a database of tests; leaves one with anything else as it is, and says so.
async fn empty(url: &str) -> RedisResult<bool> {
    let marked = command(url, &["SET", MARK, "1", "NX"], BOUND).await? != Value::Nil;
    if marked && command(url, &["DBSIZE"], BOUND).await? != Value::Int(1) {
        command(url, &["DEL", MARK], BOUND).await?;
        return Ok(false);
    }
    command(url, &["FLUSHDB"], BOUND).await?;
    command(url, &["SET", MARK, "1"], BOUND).await?;
    Ok(true)
}
