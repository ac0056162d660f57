//! Sessions: waits for the lock, keep-alives, the purge.

use std::time::Instant;

use super::*;
use crate::Joined;

const SHORT: Duration = Duration::from_secs(1);
const LONGER_THAN_SHORT: Duration = Duration::from_millis(1500);

#[tokio::test]
async fn a_keep_alive_that_waited_longer_than_the_lease_revives_nothing() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, SHORT).await;
    let mut stranger = home.stranger().await;
    stranger.run("begin immediate").await;
    let waiting = {
        let (backend, session) = (backend.clone(), session.clone());
        tokio::spawn(async move { backend.keep_alive(&session, LONG).await })
    };
    tokio::time::sleep(LONGER_THAN_SHORT).await;
    stranger.run("commit").await;
    assert_eq!(waiting.await.unwrap().unwrap(), KeepAlive::Expired);
    assert_eq!(stranger.count("simba_session").await, 0);
}

#[tokio::test]
async fn an_acquire_or_join_that_waited_longer_than_the_lease_takes_nothing() {
    let home = Home::new();
    let (a, b) = (home.backend().await, home.backend().await);
    let session = open(&a, SHORT).await;
    let mut stranger = home.stranger().await;
    stranger.run("begin immediate").await;
    let acquiring = {
        let (a, session) = (a.clone(), session.clone());
        tokio::spawn(async move { a.acquire(&session, &[name("a")]).await })
    };
    let joining = {
        let (b, session) = (b.clone(), session.clone());
        tokio::spawn(async move { b.join(&session, &group("g")).await })
    };
    tokio::time::sleep(LONGER_THAN_SHORT).await;
    stranger.run("commit").await;
    assert!(matches!(acquiring.await.unwrap().unwrap(), Acquired::Expired));
    assert_eq!(joining.await.unwrap().unwrap(), Joined::Expired);
    assert_eq!(stranger.count("simba_lease").await, 0);
    assert_eq!(stranger.count("simba_member").await, 0);
}

#[tokio::test]
async fn a_write_that_waits_holds_up_no_read_and_no_dropped_call_is_begun() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    granted(&backend, &session, "held").await;
    let mut stranger = home.stranger().await;
    stranger.run("begin immediate").await;
    for nth in 0..20 {
        let names = [name(&format!("dropped-{nth}"))];
        let dropped = tokio::time::timeout(Duration::from_millis(5), backend.acquire(&session, &names)).await;
        assert!(dropped.is_err());
    }
    let other = open_by_hand(&backend, &mut stranger).await;
    let answers = tokio::time::timeout(BOUND, acquire(&backend, &other, &["held"])).await.unwrap();
    assert!(matches!(answers[0].1, Acquisition::Held { free_in: Some(_) }), "{answers:?}");
    granted(&backend, &session, "after").await;
    let owned = owned(&backend, &session).await.unwrap();
    let begun = owned.iter().filter(|(name, _)| name.as_str().starts_with("dropped")).count();
    assert!(begun <= 1, "{owned:?}");
    assert!(owned.iter().any(|(name, _)| name.as_str() == "after"));
}

/// Commits the stranger's transaction with another session in it.
async fn open_by_hand(_: &SqliteBackend, stranger: &mut Stranger) -> SessionId {
    let session = SessionId::random();
    let sql = format!("insert into simba_session values ('{session}', 9999999999999, 'me'); commit");
    stranger.run(&sql).await;
    session
}

#[tokio::test]
async fn a_keep_alive_never_shortens_and_answers_at_most_the_lease() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    for lease in [SHORT, LONG] {
        match backend.keep_alive(&session, lease).await.unwrap() {
            KeepAlive::Live { remaining, server_elapsed, .. } => {
                assert!(
                    remaining <= lease && remaining + Duration::from_millis(900) > lease,
                    "{remaining:?}"
                );
                assert!(server_elapsed.unwrap() <= BOUND);
            }
            KeepAlive::Expired => panic!("it lives"),
        }
    }
}

/// The storage cuts its time to milliseconds; who counts from the send must not outlive it by the rest.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "measures the storage's clock by another")]
async fn what_is_left_ends_before_another_can_take_it() {
    let home = Home::new();
    let (holder, rival) = (home.backend().await, home.backend().await);
    let waiting = open(&rival, LONG).await;
    for nth in 0..16 {
        let (lease, name) = (Duration::from_millis(250), format!("n{nth}"));
        let session = open(&holder, lease).await;
        granted(&holder, &session, &name).await;
        let sent_at = Instant::now();
        let KeepAlive::Live { remaining, .. } = holder.keep_alive(&session, lease).await.unwrap() else {
            continue; // The machine took longer than the lease.
        };
        let ends_at = sent_at + remaining;
        tokio::time::sleep(lease - Duration::from_millis(4)).await;
        while !matches!(acquire(&rival, &waiting, &[&name]).await[0].1, Acquisition::Granted { .. }) {}
        assert!(Instant::now() >= ends_at, "taken {:?} before its end", ends_at - Instant::now());
    }
}

#[tokio::test]
async fn a_keep_alive_tells_what_the_storage_counted_since_the_last() {
    let home = Home::new();
    let backend = home.backend().await;
    let session = open(&backend, LONG).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    match backend.keep_alive(&session, LONG).await.unwrap() {
        KeepAlive::Live { server_elapsed: Some(elapsed), .. } => {
            assert!(elapsed >= Duration::from_millis(199) && elapsed < BOUND, "{elapsed:?}");
        }
        other @ (KeepAlive::Live { .. } | KeepAlive::Expired) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn metadata_and_members_come_back_sorted() {
    let home = Home::new();
    let backend = home.backend().await;
    let mut expected = Vec::new();
    for text in ["a 'quoted\" one", "", "ü"] {
        let opened = backend.open_session(LONG, &text.parse().unwrap()).await.unwrap();
        assert_eq!(backend.join(&opened.session, &group("g")).await.unwrap(), Joined::Member);
        assert_eq!(backend.join(&opened.session, &group("g")).await.unwrap(), Joined::Member);
        expected.push((opened.session, text.to_owned()));
    }
    expected.sort();
    let members = backend.members(&group("g")).await.unwrap();
    let found: Vec<_> =
        members.into_iter().map(|member| (member.session, member.metadata.to_string())).collect();
    assert_eq!(found, expected);
    backend.leave(&expected[0].0, &group("g")).await.unwrap();
    backend.close_session(&expected[1].0).await.unwrap();
    assert_eq!(backend.members(&group("g")).await.unwrap().len(), 1);
    assert_eq!(backend.members(&group("G")).await.unwrap(), []);
}

#[tokio::test]
async fn the_purge_leaves_only_leases_and_their_tokens() {
    let home = Home::new();
    let backend =
        SqliteBackend::builder(home.file()).purge_interval(Duration::from_millis(1)).connect().await.unwrap();
    let mut stranger = home.stranger().await;
    let session = open(&backend, SHORT).await;
    let token = granted(&backend, &session, "a").await;
    backend.join(&session, &group("g")).await.unwrap();
    stranger.run("insert into simba_member values ('g', 'nobody')").await;
    stranger.run("insert into simba_lease values ('b', 'nobody', 7)").await;
    tokio::time::sleep(LONGER_THAN_SHORT).await;
    let last = open(&backend, LONG).await;
    eventually("purged", async || {
        stranger.count("simba_session where expires_at > 0").await == 1
            && stranger.count("simba_member").await == 0
            && stranger.count("simba_lease where session_id = ''").await == 2
    })
    .await;
    assert_eq!(granted(&backend, &last, "a").await.get(), token.get() + 1);
    assert_eq!(granted(&backend, &last, "b").await.get(), 8);
}

#[tokio::test]
async fn the_purge_runs_at_most_once_per_interval_and_not_for_more_than_a_thousand() {
    let home = Home::new();
    let backend = home.backend().await;
    let mut stranger = home.stranger().await;
    stranger
        .run(
            "with recursive n (i) as (select 1 union all select i + 1 from n where i < 1500)
              insert into simba_session select 'dead' || i, i, '' from n",
        )
        .await;
    open(&backend, LONG).await;
    eventually("purged", async || stranger.count("simba_session").await == 501).await;
    let session = open(&backend, LONG).await;
    owned(&backend, &session).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stranger.count("simba_session").await, 502);
}
