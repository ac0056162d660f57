//! Lies about trouble and under load.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use simba_backends::{
    Acquired, BackendError, ErrorKind, KeepAlive, LeaseBackend, LeaseName, Metadata, Opened, Outcome,
    SessionId,
};
use simba_tck::{Misuse, Outage, async_trait};

use crate::{honest::Honest, lie::Lie, lies};

lies! {
    a_black_hole_is_waited_for: WaitsForEver => error::e1_a_storage_out_of_service_fails_in_time_with_the_right_outcome;
    not_applied_is_said_of_what_was: AppliesAndDenies => error::e1_a_storage_out_of_service_fails_in_time_with_the_right_outcome;
    the_kind_of_error_is_lost: Shrugs => error::e1_a_storage_out_of_service_fails_in_time_with_the_right_outcome;
    an_outage_is_never_forgiven: StaysDown => error::e2_service_resumes_without_help;
    the_password_is_in_the_error: TellsThePassword => error::e3_misuse_is_an_error_that_says_what_to_do;
    the_error_does_not_say_what_to_do: SaysNothing => error::e3_misuse_is_an_error_that_says_what_to_do;
    one_call_in_a_hundred_fails: FailsNowAndThen => load::c1_many_sessions_taking_many_names_see_no_error;
    a_keep_alive_is_a_call_for_each_thousand: ManyCalls => load::c2_ten_thousand_leases_are_kept_alive_by_one_call;
    a_long_list_is_cut: CutsTheList => load::c2_ten_thousand_leases_are_kept_alive_by_one_call;
}

fn unavailable(message: &str) -> BackendError {
    BackendError::new(ErrorKind::Unavailable, Outcome::NotApplied, message)
}

#[derive(Debug, Default)]
struct WaitsForEver;
#[async_trait]
impl Lie for WaitsForEver {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        if honest.outage() == Some(Outage::BlackHole) {
            std::future::pending::<()>().await;
        }
        honest.keep_alive(id, lease).await
    }
}

#[derive(Debug, Default)]
struct AppliesAndDenies;
#[async_trait]
impl Lie for AppliesAndDenies {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        if honest.outage() == Some(Outage::BlackHole) {
            honest.memory().acquire(id, names).await?;
            return Err(unavailable("no answer"));
        }
        honest.acquire(id, names).await
    }
}

#[derive(Debug, Default)]
struct Shrugs;
#[async_trait]
impl Lie for Shrugs {
    async fn open_session(
        &self,
        honest: &Honest,
        lease: Duration,
        metadata: &Metadata,
    ) -> Result<Opened, BackendError> {
        let shrug = |_| BackendError::new(ErrorKind::Unexpected, Outcome::Unknown, "it did not work");
        honest.open_session(lease, metadata).await.map_err(shrug)
    }
}

#[derive(Debug, Default)]
struct StaysDown(AtomicBool);
#[async_trait]
impl Lie for StaysDown {
    async fn open_session(
        &self,
        honest: &Honest,
        lease: Duration,
        metadata: &Metadata,
    ) -> Result<Opened, BackendError> {
        if self.0.load(Ordering::Relaxed) {
            Err(unavailable("the connection is closed"))
        } else {
            honest.open_session(lease, metadata).await
        }
    }

    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let answer = honest.keep_alive(id, lease).await;
        self.0.fetch_or(answer.is_err(), Ordering::Relaxed);
        answer
    }
}

fn wrong_password(message: &str) -> Misuse {
    Misuse {
        situation: "wrong password",
        error: BackendError::new(ErrorKind::Unauthorized, Outcome::NotApplied, message),
        kind: ErrorKind::Unauthorized,
        remedy: "correct the URL",
        secret: Some("hunter2".to_owned()),
    }
}

#[derive(Debug, Default)]
struct TellsThePassword;
impl Lie for TellsThePassword {
    fn misuse(&self) -> Misuse {
        let driver = std::io::Error::other("cannot log in to redis://simba:hunter2@localhost");
        let mut misuse = wrong_password("the storage refused us: correct the URL");
        misuse.error = misuse.error.with_source(driver);
        misuse
    }
}

#[derive(Debug, Default)]
struct SaysNothing;
impl Lie for SaysNothing {
    fn misuse(&self) -> Misuse {
        wrong_password("NOAUTH")
    }
}

#[derive(Debug, Default)]
struct FailsNowAndThen(AtomicU64);
#[async_trait]
impl Lie for FailsNowAndThen {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        match self.0.fetch_add(1, Ordering::Relaxed) % 100 {
            99 => Err(unavailable("too many clients")),
            _ => honest.acquire(id, names).await,
        }
    }
}

#[derive(Debug, Default)]
struct ManyCalls;
#[async_trait]
impl Lie for ManyCalls {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let answer = honest.keep_alive(id, lease).await?;
        if let KeepAlive::Live { owned, .. } = &answer {
            honest.count(owned.len() as u64 / 1000);
        }
        Ok(answer)
    }
}

#[derive(Debug, Default)]
struct CutsTheList;
#[async_trait]
impl Lie for CutsTheList {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let mut answer = honest.keep_alive(id, lease).await?;
        if let KeepAlive::Live { owned, .. } = &mut answer {
            owned.truncate(9_999);
        }
        Ok(answer)
    }
}
