//! A standby in place of the primary, and a server that takes no writes for a while.

use std::time::Duration;

use simba_backends::{Acquired, Acquisition, ErrorKind, LeaseBackend, Outcome, postgres::PostgresBackend};
use simba_tck::Fixture;

use crate::{
    fixture::{Direct, Server},
    peer::{LONG, Peer, name, names},
};

#[tokio::test]
async fn a_promoted_synchronous_standby_has_every_token() {
    let server = Server::<Direct>::fresh().await;
    let standby = server.postgres.standby().await.unwrap();
    let mine = Peer::open(server.connect().await, LONG).await;
    let all = names("n", 50);
    let mut last = Vec::new();
    for round in 0..20 {
        let leases = mine.acquire_all(&all).await.into_iter().map(|(name, answer)| match answer {
            Acquisition::Granted { token, .. } => (name, token),
            Acquisition::AlreadyOwned { .. } | Acquisition::Held { .. } | Acquisition::Failed(_) => {
                panic!("{name}, round {round}: {answer:?}")
            }
        });
        last = leases.collect();
        last.sort();
        if round < 19 {
            mine.backend.release(&mine.session, &last).await.unwrap();
        }
    }
    // Read-only, as long as it is a standby.
    let error = PostgresBackend::connect(standby.url()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::ReadOnly, Outcome::NotApplied), "{error:?}");

    server.postgres.kill().await.unwrap();
    standby.promote().await.unwrap();
    let after: std::sync::Arc<dyn LeaseBackend> =
        std::sync::Arc::new(PostgresBackend::connect(standby.url()).await.unwrap());
    let moved = Peer { backend: after.clone(), ..mine.clone() };
    let mut owned = moved.owned().await.expect("its session is there, too");
    owned.sort();
    assert_eq!(owned, last);
    moved.backend.close_session(&moved.session).await.unwrap();
    let other = Peer::open(after, LONG).await;
    for (name, token) in &last {
        assert!(other.granted(name).await > *token, "{name}");
    }
}

/// A commit that waits for its standby may have happened.
#[tokio::test]
async fn an_acquire_that_hangs_in_its_commit_may_have_been_applied() {
    let server = Server::<Direct>::fresh().await;
    let standby = server.postgres.standby().await.unwrap();
    let url = server.proxied_url();
    let builder = PostgresBackend::builder(&url).unwrap().call_timeout(Duration::from_secs(2));
    let mine = Peer::open(std::sync::Arc::new(builder.connect().await.unwrap()), LONG).await;
    let n = name("n");
    standby.stop().unwrap();
    let error = mine.backend.acquire(&mine.session, std::slice::from_ref(&n)).await.unwrap_err();
    standby.resume().unwrap();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Timeout, Outcome::Unknown), "{error:?}");
    let owned = mine.owned().await.expect("it lives");
    assert!(owned.is_empty() || owned[0].0 == n);
    assert!(matches!(mine.acquire(&n).await, Acquisition::Granted { .. } | Acquisition::AlreadyOwned { .. }));
}

#[tokio::test]
async fn a_read_only_spell_is_told_and_over_with_the_first_call_after_it() {
    let server = Server::<Direct>::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    let token = mine.granted(&n).await;
    server.postgres.read_only().await.unwrap();
    let told = [
        mine.backend.keep_alive(&mine.session, LONG).await.map(|_| ()).unwrap_err(),
        mine.backend.acquire(&mine.session, &[name("m")]).await.map(|_| ()).unwrap_err(),
        mine.backend.acquire(&mine.session, std::slice::from_ref(&n)).await.map(|_| ()).unwrap_err(),
        mine.backend.release(&mine.session, &[(n.clone(), token)]).await.map(|_| ()).unwrap_err(),
        mine.backend.join(&mine.session, &"g".parse().unwrap()).await.map(|_| ()).unwrap_err(),
        mine.backend.close_session(&mine.session).await.unwrap_err(),
    ];
    for error in told {
        assert_eq!((error.kind(), error.outcome()), (ErrorKind::ReadOnly, Outcome::NotApplied), "{error:?}");
    }
    assert_eq!(mine.holder(&n).await.expect("reads go on").token, token);
    server.postgres.read_write().await.unwrap();
    assert_eq!(mine.owned().await.unwrap(), [(n, token)]);
    let answer = mine.backend.acquire(&mine.session, &[name("m")]).await.unwrap();
    assert!(matches!(answer, Acquired::Answers(_)), "{answer:?}");
}
