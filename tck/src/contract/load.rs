//! Load: C1 and C2.

use simba_backends::Acquisition;
use tokio::time::timeout;

use crate::{
    Fixture,
    contender::{Contender, names},
    power::declare,
};

/// **C1** 64 sessions taking 200 fresh names each see no error.
pub async fn c1_many_sessions_taking_many_names_see_no_error(fixture: &dyn Fixture) {
    let mut sessions = Vec::new();
    for _ in 0..4 {
        let first = Contender::lasting(fixture).await;
        for _ in 1..16 {
            sessions.push(Contender::on(first.backend.clone(), first.lease).await);
        }
        sessions.push(first);
    }
    let held = Contender::race(&sessions, |session| async move {
        for batch in names(session.session.as_str(), 200).chunks(20) {
            for (name, answer) in session.acquire_all(batch).await {
                assert!(matches!(answer, Acquisition::Granted { .. }), "{name} is fresh: {answer:?}");
            }
        }
        session.owned().await.len()
    })
    .await;
    assert_eq!(held, [200; 64]);
}

/// **C2** With 10,000 leases on one session a keep-alive is one call, where declared.
pub async fn c2_ten_thousand_leases_are_kept_alive_by_one_call(fixture: &dyn Fixture) {
    let mine = Contender::lasting(fixture).await;
    let all = names("n", 10_000);
    for batch in all.chunks(1000) {
        mine.acquire_all(batch).await;
    }
    let listed = timeout(fixture.lease(), mine.owned()).await;
    let listed = listed.expect("10,000 leases are kept alive within the lease");
    assert!(listed.into_keys().eq(all), "all 10,000 are listed");
    if !mine.backend.capabilities().one_call_keep_alive {
        return declare("one-call keep-alive: a keep-alive of many leases is several calls");
    }
    match fixture.calls().await {
        Err(lack) => lack.declare(),
        Ok(before) => {
            mine.alive().await;
            let after = fixture.calls().await.expect("a fixture that counts counts again");
            assert!(after - before <= 1, "{} calls for one keep-alive", after - before);
        }
    }
}
