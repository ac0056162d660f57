//! Connections of an application, and connections that end.

use std::{sync::Arc, time::Duration};

use simba_backends::{Acquisition, BackendError, ErrorKind, LeaseBackend, mysql::MySqlBackend};
use simba_servers::Flavour;
use simba_tck::Fixture;
use sqlx::{Executor, MySqlPool, Row, mysql::MySqlPoolOptions};
use tokio::time::{sleep, timeout};

use crate::{
    FLAVOUR,
    fixture::{Server, Usual},
    peer::{BOUND, LONG, Peer, eventually, name, names},
};

/// Settings that an application may have, each of which would break a statement that relied on its default.
const ODD: &str = "set transaction_isolation = 'SERIALIZABLE', sql_select_limit = 1,
    sql_safe_updates = 1, group_concat_max_len = 4, time_zone = '-11:30', innodb_lock_wait_timeout = 77,
    sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT,STRICT_ALL_TABLES'";

async fn odd_pool(server: &Server, size: u32, autocommit: i64) -> MySqlPool {
    let odd = format!("set autocommit = {autocommit}; {ODD}");
    let odd = match FLAVOUR {
        Flavour::MySql => odd,
        Flavour::MariaDb => odd.replace("transaction_isolation", "tx_isolation"),
    };
    let options = MySqlPoolOptions::new().max_connections(size).after_connect(move |connection, _| {
        let odd = odd.clone();
        Box::pin(async move { connection.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(odd))).await.map(drop) })
    });
    options.connect(&server.url()).await.unwrap()
}

/// A session's whole life, with everything that a setting could break.
#[tokio::test]
async fn an_applications_pool_may_have_any_settings_and_keeps_them() {
    for autocommit in [0, 1] {
        a_pool_may_have_any_settings(autocommit).await;
    }
}

async fn a_pool_may_have_any_settings(autocommit: i64) {
    let server = Server::<Usual>::fresh().await;
    let pool = odd_pool(&server, 2, autocommit).await;
    // Somebody has left a transaction open, and its snapshot with it.
    let mut left: Vec<_> = vec![pool.acquire().await.unwrap(), pool.acquire().await.unwrap()];
    for connection in &mut left {
        connection.execute("start transaction with consistent snapshot").await.unwrap();
    }
    drop(left);
    let backend = MySqlBackend::builder_with_pool(pool.clone()).connect().await.unwrap();
    let peer = Peer::open(Arc::new(backend.clone()), LONG).await;
    let other = Peer::open(server.connect().await, LONG).await;
    let all = names("n", 20);
    for round in 1..4 {
        let answers = peer.acquire_all(&all).await;
        assert_eq!(answers.len(), 20);
        let mut leases = Vec::new();
        for (name, answer) in answers {
            let Acquisition::Granted { token, .. } = answer else { panic!("{name}: {answer:?}") };
            assert_eq!(token.get(), round);
            leases.push((name, token));
        }
        assert!(other.is_held(&all[7]).await, "it was committed");
        assert_eq!(peer.owned().await.unwrap().len(), 20);
        assert_eq!(peer.holder(&all[3]).await.unwrap().session, peer.session);
        peer.backend.release(&peer.session, &leases).await.unwrap();
        assert_eq!(other.holder(&all[3]).await, None);
    }
    let group = "crew".parse().unwrap();
    peer.backend.join(&peer.session, &group).await.unwrap();
    assert_eq!(other.backend.members(&group).await.unwrap().len(), 1);
    peer.backend.close_session(&peer.session).await.unwrap();
    assert_eq!(other.backend.members(&group).await.unwrap().len(), 0);

    let row = pool
        .fetch_one(
            "select @@autocommit, @@innodb_lock_wait_timeout, @@group_concat_max_len, @@sql_select_limit",
        )
        .await
        .unwrap();
    let numbers: Vec<i64> = (0..4).map(|column| row.try_get_unchecked(column).unwrap()).collect();
    assert_eq!(numbers, [autocommit, 77, 4, 1], "the application finds its settings again");
    drop(row);
    pool.close().await;
    let error = peer.backend.acquire(&other.session, &all).await.unwrap_err();
    assert!(error.to_string().contains("closed its pool"), "{error}");
}

/// All of its connections sleep for ten leases.
#[tokio::test]
async fn an_applications_pool_that_is_busy_ends_no_session() {
    let server = Server::<Usual>::fresh().await;
    let pool = MySqlPoolOptions::new().max_connections(2).connect(&server.url()).await.unwrap();
    let backend: Arc<dyn LeaseBackend> =
        Arc::new(MySqlBackend::builder_with_pool(pool.clone()).connect().await.unwrap());
    let peer = Peer::open(backend, Duration::from_secs(2)).await;
    let n = name("n");
    peer.granted(&n).await;
    let sleepers: Vec<_> = (0..2)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move { pool.execute("select sleep(20)").await.map(drop) })
        })
        .collect();
    for _ in 0..20 {
        sleep(Duration::from_millis(500)).await;
        assert_eq!(peer.owned().await.expect("it is kept alive").len(), 1);
    }
    assert!(sleepers.iter().all(|sleeper| !sleeper.is_finished()), "the pool was busy all the while");
}

/// By an operator, a firewall, or the server's own time-out for idle ones.
#[tokio::test]
async fn connections_that_are_killed_are_replaced() {
    let server = Server::<Usual>::fresh().await;
    let peer = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    let token = peer.granted(&n).await;
    let mut operator = server.operator().await;
    let ours = "from information_schema.processlist where user = 'app'";
    while operator.number(&format!("select count(*) {ours}")).await > 0 {
        let id = operator.number(&format!("select min(id) {ours}")).await;
        operator.run(&format!("kill {id}")).await;
        operator.awaited(&format!("select 1 - count(*) {ours} and id = {id}")).await;
    }
    eventually("it is kept alive again", async || peer.backend.keep_alive(&peer.session, LONG).await.is_ok())
        .await;
    eventually("it acquires again", async || {
        peer.backend.acquire(&peer.session, std::slice::from_ref(&n)).await.is_ok()
    })
    .await;
    assert_eq!(peer.owned().await.unwrap(), [(n, token)]);
}

#[tokio::test]
async fn a_read_only_spell_ends_with_its_end() {
    let server = Server::<Usual>::fresh().await;
    let peer = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    peer.granted(&n).await;
    server.mysql.read_only().await.unwrap();
    let kind = |result: Result<(), BackendError>| result.unwrap_err().kind();
    for _ in 0..3 {
        let acquire = peer.backend.acquire(&peer.session, &names("m", 2)).await.map(drop);
        assert_eq!(kind(acquire), ErrorKind::ReadOnly);
        assert_eq!(kind(peer.backend.keep_alive(&peer.session, LONG).await.map(drop)), ErrorKind::ReadOnly);
        assert!(peer.holder(&n).await.is_some(), "reads go on");
    }
    server.mysql.read_write().await.unwrap();
    assert_eq!(peer.owned().await.expect("at the first call").len(), 1);
    assert_eq!(peer.acquire_all(&names("m", 2)).await.len(), 2);
}

/// MariaDB has TLS only where somebody gave it a certificate.
#[tokio::test]
async fn tls_is_used_where_it_is_asked_for() {
    let server = Server::<Usual>::fresh().await;
    let backend = MySqlBackend::connect(&format!("{}?ssl-mode=REQUIRED", server.url())).await;
    match FLAVOUR {
        Flavour::MySql => {
            let peer = Peer::open(Arc::new(backend.unwrap()), LONG).await;
            peer.granted(&name("n")).await;
            let url = format!("{}?ssl-mode=VERIFY_CA", server.url());
            let error = MySqlBackend::connect(&url).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "nobody vouches for its certificate: {error:?}");
        }
        Flavour::MariaDb => assert_eq!(backend.unwrap_err().kind(), ErrorKind::Config),
    }
}

/// Tables that are mended later are used then.
#[tokio::test]
async fn a_table_that_goes_and_comes_back_is_an_error_in_between() {
    let server = Server::<Usual>::fresh().await;
    let peer = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    peer.granted(&n).await;
    let mut operator = server.operator().await;
    operator.run("rename table simba_lease to simba_lease_away").await;
    for _ in 0..2 {
        let error = timeout(BOUND, peer.backend.acquire(&peer.session, std::slice::from_ref(&n))).await;
        let error = error.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{error:?}");
        assert!(error.to_string().contains("sql/init-simba-mysql.sql"), "{error}");
        assert_eq!(peer.backend.keep_alive(&peer.session, LONG).await.unwrap_err().kind(), ErrorKind::Schema);
    }
    operator.run("rename table simba_lease_away to simba_lease").await;
    assert_eq!(peer.owned().await.unwrap().len(), 1);
}
