//! Lies about sessions.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use simba_backends::{
    Acquired, Acquisition, BackendError, ErrorKind, GroupName, Joined, KeepAlive, LeaseBackend, LeaseName,
    Metadata, Opened, Outcome, Release, SessionId, Token,
};
use simba_tck::{Outage, async_trait};

use crate::{honest::Honest, honest::is_elsewhere, lie::Lie, lies};

lies! {
    ids_are_used_again: ReusesIds => session::s1_opening_gives_a_fresh_id_and_at_most_the_lease;
    opening_gives_more_than_the_lease: OpensForLonger => session::s1_opening_gives_a_fresh_id_and_at_most_the_lease;
    groups_are_not_listed: ListsNoGroups => session::s2_a_keep_alive_restores_the_lease_and_lists_what_is_held;
    what_was_released_is_listed: ListsTheReleased => session::s2_a_keep_alive_restores_the_lease_and_lists_what_is_held;
    a_keep_alive_renews_nothing: RenewsNothing => session::s2_a_keep_alive_restores_the_lease_and_lists_what_is_held;
    an_expired_session_is_revived: Revives => session::s3_a_session_not_kept_alive_is_expired_and_never_revived;
    a_late_keep_alive_revives: RevivesAfterALock => session::s3_a_session_not_kept_alive_is_expired_and_never_revived;
    an_expired_session_joins: TheDeadJoin => session::s3_a_session_not_kept_alive_is_expired_and_never_revived;
    an_expired_session_is_told_held: TheDeadAreToldHeld => session::s3_a_session_not_kept_alive_is_expired_and_never_revived;
    close_forgets_memberships: CloseForgetsMemberships => session::s4_closing_frees_everything_at_once_and_finishes_an_earlier_close;
    close_forgets_leases: CloseForgetsLeases => session::s4_closing_frees_everything_at_once_and_finishes_an_earlier_close;
    a_second_close_fails: ClosesOnce => session::s4_closing_frees_everything_at_once_and_finishes_an_earlier_close;
    a_half_closed_session_is_taken_for_closed: LeavesTheRest => session::s4_closing_frees_everything_at_once_and_finishes_an_earlier_close;
    metadata_is_cut: CutsMetadata => session::s5_metadata_comes_back_in_members_and_inspect;
    metadata_is_trimmed: TrimsMetadata => session::s5_metadata_comes_back_in_members_and_inspect;
    a_silent_part_is_lost: LosesASilentPart => session::s7_a_part_that_did_not_answer_is_unknown_not_lost;
    a_silent_part_expires_the_session: ExpiresOnASilentPart => session::s7_a_part_that_did_not_answer_is_unknown_not_lost;
    a_keep_alive_shortens_the_expiry: Shortens => session::s8_a_keep_alive_never_moves_the_expiry_earlier;
}

#[derive(Debug, Default)]
struct ReusesIds(Mutex<Option<SessionId>>);
#[async_trait]
impl Lie for ReusesIds {
    async fn open_session(
        &self,
        honest: &Honest,
        lease: Duration,
        metadata: &Metadata,
    ) -> Result<Opened, BackendError> {
        let opened = honest.open_session(lease, metadata).await?;
        let session = self.0.lock().unwrap().get_or_insert(opened.session).clone();
        Ok(Opened { session, ..opened })
    }
}

#[derive(Debug, Default)]
struct OpensForLonger;
#[async_trait]
impl Lie for OpensForLonger {
    async fn open_session(
        &self,
        honest: &Honest,
        lease: Duration,
        metadata: &Metadata,
    ) -> Result<Opened, BackendError> {
        let opened = honest.open_session(lease, metadata).await?;
        Ok(Opened { remaining: lease + Duration::from_millis(1), ..opened })
    }
}

#[derive(Debug, Default)]
struct ListsNoGroups;
#[async_trait]
impl Lie for ListsNoGroups {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let mut answer = honest.keep_alive(id, lease).await?;
        if let KeepAlive::Live { groups, .. } = &mut answer {
            groups.clear();
        }
        Ok(answer)
    }
}

/// Lists from the client's memory.
#[derive(Debug, Default)]
struct ListsTheReleased(Mutex<BTreeMap<SessionId, BTreeMap<LeaseName, Token>>>);
#[async_trait]
impl Lie for ListsTheReleased {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let mut answer = honest.keep_alive(id, lease).await?;
        if let KeepAlive::Live { owned, .. } = &mut answer {
            let mut known = self.0.lock().unwrap();
            let known = known.entry(id.clone()).or_default();
            known.extend(owned.drain(..));
            owned.extend(known.iter().map(|(name, token)| (name.clone(), *token)));
        }
        Ok(answer)
    }
}

#[derive(Debug, Default)]
struct RenewsNothing(Mutex<BTreeMap<SessionId, KeepAlive>>);
#[async_trait]
impl Lie for RenewsNothing {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let long = lease > Duration::from_secs(60);
        let known = self.0.lock().unwrap().get(id).cloned();
        match known {
            Some(known) if !long => Ok(known),
            _ => {
                let answer = honest.keep_alive(id, lease).await?;
                self.0.lock().unwrap().insert(id.clone(), answer.clone());
                Ok(answer)
            }
        }
    }
}

fn live(remaining: Duration) -> KeepAlive {
    KeepAlive::Live { remaining, owned: vec![], unknown: vec![], groups: vec![], server_elapsed: None }
}

#[derive(Debug, Default)]
struct Revives;
#[async_trait]
impl Lie for Revives {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        match honest.keep_alive(id, lease).await? {
            KeepAlive::Expired => Ok(live(lease)),
            answer @ KeepAlive::Live { .. } => Ok(answer),
        }
    }
}

#[derive(Debug, Default)]
struct RevivesAfterALock;
#[async_trait]
impl Lie for RevivesAfterALock {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        if honest.is_held(id.as_str()) {
            honest.wait_for(id.as_str()).await;
            return Ok(live(lease));
        }
        honest.keep_alive(id, lease).await
    }
}

#[derive(Debug, Default)]
struct TheDeadJoin;
#[async_trait]
impl Lie for TheDeadJoin {
    async fn join(&self, honest: &Honest, id: &SessionId, group: &GroupName) -> Result<Joined, BackendError> {
        honest.join(id, group).await.map(|_| Joined::Member)
    }
}

#[derive(Debug, Default)]
struct TheDeadAreToldHeld;
#[async_trait]
impl Lie for TheDeadAreToldHeld {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        match honest.acquire(id, names).await? {
            Acquired::Expired => {
                let held = |name: &LeaseName| (name.clone(), Acquisition::Held { free_in: None });
                Ok(Acquired::Answers(names.iter().map(held).collect()))
            }
            answers @ Acquired::Answers(_) => Ok(answers),
        }
    }
}

async fn owned(honest: &Honest, id: &SessionId) -> (Vec<(LeaseName, Token)>, Vec<GroupName>) {
    match honest.keep_alive(id, Duration::from_millis(1)).await {
        Ok(KeepAlive::Live { owned, groups, .. }) => (owned, groups),
        Ok(KeepAlive::Expired) | Err(_) => (vec![], vec![]),
    }
}

#[derive(Debug, Default)]
struct CloseForgetsMemberships;
#[async_trait]
impl Lie for CloseForgetsMemberships {
    async fn close_session(&self, honest: &Honest, id: &SessionId) -> Result<(), BackendError> {
        let (leases, _) = owned(honest, id).await;
        let _: Vec<(LeaseName, Release)> = honest.release(id, &leases).await?;
        Ok(())
    }
}

#[derive(Debug, Default)]
struct CloseForgetsLeases;
#[async_trait]
impl Lie for CloseForgetsLeases {
    async fn close_session(&self, honest: &Honest, id: &SessionId) -> Result<(), BackendError> {
        for group in owned(honest, id).await.1 {
            honest.leave(id, &group).await?;
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
struct ClosesOnce;
#[async_trait]
impl Lie for ClosesOnce {
    async fn close_session(&self, honest: &Honest, id: &SessionId) -> Result<(), BackendError> {
        match honest.keep_alive(id, Duration::from_millis(1)).await? {
            KeepAlive::Live { .. } => honest.close_session(id).await,
            KeepAlive::Expired => {
                Err(BackendError::new(ErrorKind::Unexpected, Outcome::NotApplied, "no such session"))
            }
        }
    }
}

/// Looks for the session's own record first.
#[derive(Debug, Default)]
struct LeavesTheRest;
#[async_trait]
impl Lie for LeavesTheRest {
    async fn close_session(&self, honest: &Honest, id: &SessionId) -> Result<(), BackendError> {
        if honest.is_half_closed(id) { Ok(()) } else { honest.close_session(id).await }
    }
}

#[derive(Debug, Default)]
struct CutsMetadata;
#[async_trait]
impl Lie for CutsMetadata {
    async fn open_session(
        &self,
        honest: &Honest,
        lease: Duration,
        metadata: &Metadata,
    ) -> Result<Opened, BackendError> {
        let cut: String = metadata.as_str().chars().take(1023).collect();
        honest.open_session(lease, &cut.parse().unwrap()).await
    }
}

#[derive(Debug, Default)]
struct TrimsMetadata;
#[async_trait]
impl Lie for TrimsMetadata {
    async fn open_session(
        &self,
        honest: &Honest,
        lease: Duration,
        metadata: &Metadata,
    ) -> Result<Opened, BackendError> {
        honest.open_session(lease, &metadata.as_str().trim_end().parse().unwrap()).await
    }
}

#[derive(Debug, Default)]
struct LosesASilentPart;
#[async_trait]
impl Lie for LosesASilentPart {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let mut answer = honest.keep_alive(id, lease).await?;
        if let KeepAlive::Live { unknown, .. } = &mut answer {
            unknown.retain(|name| !is_elsewhere(name));
        }
        Ok(answer)
    }
}

#[derive(Debug, Default)]
struct ExpiresOnASilentPart;
#[async_trait]
impl Lie for ExpiresOnASilentPart {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        match honest.outage() {
            Some(Outage::Part) => Ok(KeepAlive::Expired),
            _ => honest.keep_alive(id, lease).await,
        }
    }
}

/// Whoever speaks last sets the expiry.
#[derive(Debug, Default)]
struct Shortens(Arc<Mutex<BTreeMap<SessionId, u64>>>);
#[async_trait]
impl Lie for Shortens {
    async fn keep_alive(
        &self,
        honest: &Honest,
        id: &SessionId,
        lease: Duration,
    ) -> Result<KeepAlive, BackendError> {
        let answer = honest.keep_alive(id, lease).await;
        let spoken = {
            let mut last = self.0.lock().unwrap();
            let last = last.entry(id.clone()).or_default();
            *last += 1;
            *last
        };
        let (last, memory, id) = (self.0.clone(), honest.memory().clone(), id.clone());
        tokio::spawn(async move {
            tokio::time::sleep(lease).await;
            let was_last = last.lock().unwrap().get(&id) == Some(&spoken);
            if was_last {
                memory.close_session(&id).await.unwrap();
            }
        });
        answer
    }
}
