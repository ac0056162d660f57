//! Files that are none, cannot be written, are full, locked, replaced.

use super::*;
use crate::sqlite::message::Message;
use crate::{ErrorKind, Outcome, connect};

fn says(error: &BackendError, kind: ErrorKind, parts: &[&str]) {
    assert_eq!(error.kind(), kind, "{error:?}");
    for part in parts {
        assert!(error.to_string().contains(part), "{part:?} is not in {error:?}");
    }
}

#[tokio::test]
async fn urls_that_name_no_file_are_refused_with_the_remedy() {
    for (url, part) in [
        ("sqlite:", "sqlite://relative.db"),
        ("sqlite://", "sqlite://relative.db"),
        ("sqlite::memory:", "use memory:"),
        ("sqlite://:memory:", "use memory:"),
        ("sqlite:///tmp/a.db?mode=memory", "unknown parameters"),
        ("sqlite:///tmp/a%2.db", "%25"),
        ("sqlite:///tmp/a%00.db", "%25"),
        ("sqlite:///nowhere/at/all/a.db", "create it"),
        ("sqlite:///tmp", "is a directory"),
        ("sqlite:///proc/self/environ/a.db", "create it"),
    ] {
        let error = connect(url).await.expect_err(url);
        says(&error, ErrorKind::Config, &[part]);
        assert_eq!(error.outcome(), Outcome::NotApplied);
    }
}

#[tokio::test]
async fn urls_and_paths_name_the_same_file() {
    let home = Home::new();
    let directory = home.0.display();
    for url in [format!("sqlite://{directory}/a%20b.db"), format!("sqlite:{directory}/a b.db")] {
        connect(&url).await.unwrap();
    }
    SqliteBackend::builder(home.0.join("a b.db")).connect().await.unwrap();
    let files = std::fs::read_dir(&home.0).unwrap().map(|file| file.unwrap().file_name());
    assert!(files.into_iter().all(|file| file.to_str().unwrap().starts_with("a b.db")));
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused() {
    let home = Home::new();
    let builder = SqliteBackend::builder(home.file());
    for wrong in [
        builder.clone().busy_timeout(Duration::ZERO),
        builder.clone().busy_timeout(Duration::MAX),
        builder.clone().hint_poll(Duration::ZERO),
        builder.clone().hint_poll(Duration::from_secs(2)),
    ] {
        says(&refused(wrong).await, ErrorKind::Config, &["of a sqlite storage"]);
    }
    assert!(!home.file().exists());
}

#[tokio::test]
async fn a_place_where_no_file_can_be_made_is_unavailable() {
    let error = refused(SqliteBackend::builder("/proc/simba.db")).await;
    says(&error, ErrorKind::Unavailable, &["/proc/simba.db", "writable"]);
    assert_eq!(error.outcome(), Outcome::NotApplied);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let home = Home::new();
    let text = "dear diary, ".repeat(1000);
    std::fs::write(home.file(), &text).unwrap();
    let error = refused(SqliteBackend::builder(home.file())).await;
    says(&error, ErrorKind::Schema, &["no SQLite database", "simba.db"]);
    assert_eq!(std::fs::read_to_string(home.file()).unwrap(), text);
}

#[tokio::test]
async fn a_damaged_file_is_corrupt_and_does_not_panic() {
    let home = Home::new();
    home.stranger().await.run("create table a (b); insert into a values (zeroblob(100000))").await;
    let mut bytes = std::fs::read(home.file()).unwrap();
    bytes[100..2000].fill(0xff);
    std::fs::write(home.file(), bytes).unwrap();
    says(&refused(SqliteBackend::builder(home.file())).await, ErrorKind::Corrupt, &["damaged", "simba.db"]);
}

#[tokio::test]
async fn foreign_tables_are_named_together_with_the_script() {
    for foreign in [
        "create table simba_lease (name text primary key, owner text)",
        "create table simba_session (session_id text primary key, expires_at int)",
        "create view simba_member as select 1 as group_name",
        "create table simba_lease (name text, session_id text, token int)",
    ] {
        let home = Home::new();
        home.stranger().await.run(foreign).await;
        let error = match SqliteBackend::builder(home.file()).connect().await {
            Err(error) => error,
            Ok(backend) => {
                let session = open(&backend, LONG).await;
                backend.acquire(&session, &[name("a")]).await.expect_err(foreign)
            }
        };
        says(&error, ErrorKind::Schema, &["sql/init-simba-sqlite.sql"]);
    }
}

#[tokio::test]
async fn tables_that_vanish_are_a_schema_error_and_come_back() {
    let home = Home::new();
    let backend = home.backend().await;
    open(&backend, LONG).await;
    // The purge that follows an opening has its connection then: a new one would make the table again.
    backend.inspect(&name("n")).await.unwrap();
    home.stranger().await.run("drop table simba_session").await;
    let error = backend.open_session(LONG, &Metadata::default()).await.unwrap_err();
    says(&error, ErrorKind::Schema, &["sql/init-simba-sqlite.sql"]);
    open(&backend, LONG).await;
}

#[tokio::test]
async fn a_full_disk_says_so_and_service_resumes() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    // The limit belongs to the connection, and goes with it when it fails.
    backend.shared.writes.run(Message::new("pragma max_page_count = 1")).await.unwrap();
    let names: Vec<_> = (0..900).map(|nth| name(&format!("{nth}{}", "x".repeat(120)))).collect();
    let error = backend.acquire(&session, &names).await.unwrap_err();
    says(&error, ErrorKind::Unavailable, &["disk full", "simba.db"]);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(owned(&backend, &session).await.unwrap(), []);
    let Acquired::Answers(answers) = backend.acquire(&session, &names).await.unwrap() else { panic!() };
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Acquisition::Granted { .. })));
}

#[tokio::test]
async fn a_session_that_could_not_be_kept_alive_is_not_opened_until_its_connection_is_replaced() {
    let home = Home::new();
    let backend = home.backend().await;
    backend.shared.keep_alives.run(Message::new("pragma query_only = on")).await.unwrap();
    let error = backend.open_session(LONG, &Metadata::default()).await.unwrap_err();
    says(&error, ErrorKind::ReadOnly, &["writable"]);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    open(&backend, LONG).await;
}

#[tokio::test]
async fn a_locked_file_is_a_timeout_that_changed_nothing() {
    let home = Home::new();
    let backend =
        SqliteBackend::builder(home.file()).busy_timeout(Duration::from_millis(50)).connect().await.unwrap();
    let session = open(&backend, LONG).await;
    let mut stranger = home.stranger().await;
    stranger.run("begin immediate").await;
    let errors = [
        backend.keep_alive(&session, LONG).await.unwrap_err(),
        backend.acquire(&session, &[name("a")]).await.unwrap_err(),
        backend.close_session(&session).await.unwrap_err(),
    ];
    for error in &errors {
        says(error, ErrorKind::Timeout, &["locked", "simba.db"]);
        assert_eq!(error.outcome(), Outcome::NotApplied);
    }
    stranger.run("rollback").await;
    granted(&backend, &session, "a").await;
    assert_eq!(owned(&backend, &session).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_file_locked_exclusively_cannot_be_opened_in_time() {
    let home = Home::new();
    let mut stranger = home.stranger().await;
    stranger.run("create table a (b); begin exclusive").await;
    let builder = SqliteBackend::builder(home.file()).busy_timeout(Duration::from_millis(50));
    says(&refused(builder.clone()).await, ErrorKind::Timeout, &["locked"]);
    stranger.run("rollback").await;
    builder.connect().await.unwrap();
}

#[tokio::test]
async fn a_deleted_file_ends_its_sessions_and_a_new_one_serves() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    granted(&backend, &session, "a").await;
    for file in ["simba.db", "simba.db-wal", "simba.db-shm"] {
        std::fs::remove_file(home.0.join(file)).unwrap();
    }
    assert_eq!(owned(&backend, &session).await, None);
    assert_eq!(backend.inspect(&name("a")).await.unwrap(), None);
    let session = open(&backend, LONG).await;
    granted(&backend, &session, "a").await;
    assert_eq!(owned(&backend, &session).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_deleted_file_whose_log_was_left_behind_ends_its_sessions_too() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    granted(&backend, &session, "a").await;
    owned(&backend, &session).await.unwrap();
    std::fs::remove_file(home.file()).unwrap();
    for _ in 0..2 {
        assert_eq!(owned(&backend, &session).await, None);
        let session = open(&backend, LONG).await;
        granted(&backend, &session, "a").await;
        assert_eq!(owned(&backend, &session).await.unwrap().len(), 1);
        backend.close_session(&session).await.unwrap();
    }
    home.backend().await;
}

/// To SQLite the file is then another one for each process that opens it from now on.
#[tokio::test]
async fn a_log_or_index_that_is_removed_makes_no_two_worlds() {
    for removed in [&["-wal", "-shm"][..], &["-shm"]] {
        let home = Home::new();
        let backend = home.backend().await;
        let session = open(&backend, LONG).await;
        granted(&backend, &session, "a").await;
        owned(&backend, &session).await.unwrap();
        for ending in removed {
            std::fs::remove_file(home.0.join(format!("simba.db{ending}"))).unwrap();
        }
        // A second one in this process shares SQLite's index of the log, as a second Simba does.
        let (mut here, mut there) = (None, None);
        eventually("both see the file again", async || {
            here = backend.keep_alive(&session, LONG).await.ok().or(here.take());
            there = SqliteBackend::builder(home.file()).connect().await.ok().or(there.take());
            here.is_some() && there.is_some()
        })
        .await;
        let there = there.unwrap();
        let (mine, other) = (open(&backend, LONG).await, open(&there, LONG).await);
        granted(&backend, &mine, "b").await;
        let refused = acquire(&there, &other, &["b"]).await.remove(0).1;
        assert!(matches!(refused, Acquisition::Held { .. }), "{refused:?}");
        assert_eq!(there.inspect(&name("b")).await.unwrap().unwrap().session, mine);
    }
}

#[tokio::test]
async fn a_copy_in_place_of_the_file_ends_the_sessions_that_it_lists() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    granted(&backend, &session, "a").await;
    let copy = home.0.join("copy.db");
    home.stranger().await.run(&format!("vacuum into '{}'", copy.display())).await;
    for file in ["simba.db-wal", "simba.db-shm"] {
        std::fs::remove_file(home.0.join(file)).unwrap();
    }
    std::fs::rename(copy, home.file()).unwrap();
    let acquired = backend.acquire(&session, &[name("b")]).await.unwrap();
    assert!(matches!(acquired, Acquired::Expired));
    assert_eq!(backend.inspect(&name("a")).await.unwrap().unwrap().session, session);
    assert_eq!(owned(&backend, &session).await, None);
    assert_eq!(backend.inspect(&name("a")).await.unwrap(), None);
}

#[tokio::test]
async fn many_that_open_a_new_file_at_once_all_succeed() {
    let home = Home::new();
    let openings: Vec<_> =
        (0..16).map(|_| tokio::spawn(SqliteBackend::builder(home.file()).connect())).collect();
    for opening in openings {
        opening.await.unwrap().unwrap();
    }
}

#[test]
fn the_published_script_is_the_one_in_the_top_level_folder() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = std::fs::read_to_string(root.join("../sql/init-simba-sqlite.sql")).unwrap();
    assert_eq!(top, include_str!("../../../sql/init-simba-sqlite.sql"));
}
