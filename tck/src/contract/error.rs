//! Errors: E1 to E3.

use simba_backends::{BackendError, ErrorKind, Outcome};
use tokio::time::timeout;

use crate::{
    Fixture, Outage,
    contender::{Contender, eventually, group, name},
    power::declare,
};

const OUTAGES: [Outage; 4] = [Outage::Refused, Outage::BlackHole, Outage::ReadOnly, Outage::Locked];

/// **E1** An unreachable, refusing or black-holed storage fails within the call's time-out, with the
/// right outcome.
pub async fn e1_a_storage_out_of_service_fails_in_time_with_the_right_outcome(fixture: &dyn Fixture) {
    for outage in OUTAGES {
        let mine = Contender::lasting(fixture).await;
        let n = name(format!("{outage:?}"));
        let fault = match fixture.outage(outage).await {
            Ok(fault) => fault,
            Err(lack) => {
                lack.declare();
                continue;
            }
        };
        let errors = every_call(fixture, &mine, outage).await;
        let acquire =
            timeout(fixture.patience(), mine.backend.acquire(&mine.session, std::slice::from_ref(&n)));
        let acquire = acquire.await.expect("an acquire fails in time").map(|_| ());
        fault.end().await;
        for error in &errors {
            fits(error, outage);
        }
        let error = acquire.expect_err("a storage out of service grants nothing");
        fits(&error, outage);
        eventually(fixture, "the storage serves again", async || mine.backend.inspect(&n).await.is_ok())
            .await;
        if error.outcome() == Outcome::NotApplied {
            assert_eq!(mine.inspect(&n).await, None, "{outage:?}: {error:?}, yet it was applied");
        }
    }
}

/// What each call says during an outage; reads may go on where only writes are refused.
async fn every_call(fixture: &dyn Fixture, mine: &Contender, outage: Outage) -> Vec<BackendError> {
    let (backend, session, patience) = (&mine.backend, &mine.session, fixture.patience());
    let in_time = "a call fails within its time-out";
    let metadata = "m".parse().expect("short texts are metadata");
    let mut answers = vec![
        ("open", timeout(patience, backend.open_session(mine.lease, &metadata)).await.expect(in_time).err()),
        (
            "keep-alive",
            timeout(patience, backend.keep_alive(session, mine.lease)).await.expect(in_time).err(),
        ),
        ("join", timeout(patience, backend.join(session, &group("g"))).await.expect(in_time).err()),
    ];
    if !matches!(outage, Outage::ReadOnly | Outage::Locked) {
        answers
            .push(("members", timeout(patience, backend.members(&group("g"))).await.expect(in_time).err()));
        answers.push(("inspect", timeout(patience, backend.inspect(&name("n"))).await.expect(in_time).err()));
    }
    let error = |(call, error): (&str, Option<BackendError>)| {
        error.unwrap_or_else(|| panic!("{call} answered during {outage:?}"))
    };
    answers.into_iter().map(error).collect()
}

fn fits(error: &BackendError, outage: Outage) {
    let fits = match outage {
        Outage::Refused | Outage::BlackHole | Outage::Locked | Outage::Part => {
            matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout)
        }
        Outage::ReadOnly => matches!(error.kind(), ErrorKind::ReadOnly | ErrorKind::Unavailable),
    };
    assert!(fits, "{outage:?} is no {error:?}");
    assert!(!error.to_string().is_empty(), "an error says what failed");
}

/// **E2** Service resumes after a restart, failover or read-only spell without help.
pub async fn e2_service_resumes_without_help(fixture: &dyn Fixture) {
    let mine = Contender::lasting(fixture).await;
    for outage in OUTAGES {
        match fixture.outage(outage).await {
            Err(lack) => lack.declare(),
            Ok(fault) => {
                for _ in 0..3 {
                    let keep_alive = mine.backend.keep_alive(&mine.session, mine.lease);
                    assert!(
                        timeout(fixture.patience(), keep_alive).await.expect("it fails in time").is_err()
                    );
                }
                fault.end().await;
                serves(fixture, &mine, &format!("{outage:?}")).await;
            }
        }
    }
    match fixture.restart().await {
        Err(lack) => lack.declare(),
        Ok(()) => serves(fixture, &mine, "Restart").await,
    }
}

/// The clients that were there, and new ones, go on.
async fn serves(fixture: &dyn Fixture, mine: &Contender, after: &str) {
    let what = format!("service after {after}");
    let opens =
        async || mine.backend.open_session(mine.lease, &"again".parse().expect("a text")).await.is_ok();
    eventually(fixture, &what, opens).await;
    let fresh = Contender::on(mine.backend.clone(), mine.lease).await;
    let n = name(format!("after-{after}"));
    let token = fresh.granted(&n).await;
    Contender::lasting(fixture).await.refused(&n).await;
    fresh.release(&n, token).await;
    fresh.close().await;
}

/// **E3** Wrong credentials, missing tables and foreign data are errors that say what to do. Nothing
/// panics; no secret is shown.
pub async fn e3_misuse_is_an_error_that_says_what_to_do(fixture: &dyn Fixture) {
    let misuses = match fixture.misuses().await {
        Ok(misuses) => misuses,
        Err(lack) => return lack.declare(),
    };
    if misuses.is_empty() {
        declare("misuse: the fixture knows no way to use this storage wrongly");
    }
    for misuse in misuses {
        let (error, situation) = (&misuse.error, misuse.situation);
        assert_eq!(error.kind(), misuse.kind, "{situation}: {error:?}");
        assert_eq!(error.outcome(), Outcome::NotApplied, "{situation}: {error:?}");
        assert!(error.to_string().contains(misuse.remedy), "{situation}: what is to be done? {error}");
        if let Some(secret) = &misuse.secret {
            let shown = format!("{error} {error:?} {}", sources(error));
            assert!(!shown.contains(secret.as_str()), "{situation}: the error shows a secret");
        }
    }
}

fn sources(error: &dyn std::error::Error) -> String {
    let mut shown = String::new();
    let mut next = error.source();
    while let Some(source) = next {
        shown.push_str(&format!("{source} {source:?}"));
        next = source.source();
    }
    shown
}
