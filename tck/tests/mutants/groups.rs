//! Lies about groups and hints.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::Mutex,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use simba_backends::{
    Acquired, Acquisition, BackendError, Capabilities, GroupName, Hint, HintSource, LeaseBackend, LeaseName,
    Member, Release, SessionId, Token,
};
use simba_tck::async_trait;

use crate::{honest::Honest, lie::Lie, lies};

lies! {
    the_view_is_one_call_old: StaleView => group::g1_who_has_joined_is_in_the_very_next_view;
    leave_is_forgotten: NeverLeaves => group::g2_leave_close_and_expiry_remove_a_member;
    the_gone_stay_in_view: NeverForgets => group::g2_leave_close_and_expiry_remove_a_member;
    the_view_is_unsorted: Unsorted => group::g3_the_view_is_sorted_without_twins;
    the_view_has_twins: Twins => group::g3_the_view_is_sorted_without_twins;
    releases_are_not_hinted: HintsNoRelease => hint::h1_a_release_is_hinted_within_a_second;
    hints_that_are_declared_are_not_there: NoHints => hint::h1_a_release_is_hinted_within_a_second;
    hints_that_are_there_are_not_declared: UndeclaredHints => hint::h1_a_release_is_hinted_within_a_second;
    hints_of_unwanted_names_go_on: KeepsWanting => hint::h1_a_release_is_hinted_within_a_second;
    a_gap_is_kept_quiet: HintsNoGap => hint::h2_after_a_reconnect_a_gap_says_look_again;
    a_release_that_nobody_heard_frees_late: FreesLate => hint::h3_dropped_hints_cost_latency_only;
}

#[derive(Debug, Default)]
struct StaleView(Mutex<BTreeMap<GroupName, Vec<Member>>>);
#[async_trait]
impl Lie for StaleView {
    async fn members(&self, honest: &Honest, group: &GroupName) -> Result<Vec<Member>, BackendError> {
        let fresh = honest.members(group).await?;
        Ok(self.0.lock().unwrap().insert(group.clone(), fresh.clone()).unwrap_or(fresh))
    }
}

#[derive(Debug, Default)]
struct NeverLeaves;
#[async_trait]
impl Lie for NeverLeaves {
    async fn leave(&self, _: &Honest, _: &SessionId, _: &GroupName) -> Result<(), BackendError> {
        Ok(())
    }
}

/// Members are rows that only `leave` deletes.
#[derive(Debug, Default)]
struct NeverForgets(Mutex<BTreeMap<GroupName, BTreeMap<SessionId, Member>>>);
#[async_trait]
impl Lie for NeverForgets {
    async fn leave(&self, honest: &Honest, id: &SessionId, group: &GroupName) -> Result<(), BackendError> {
        self.0.lock().unwrap().entry(group.clone()).or_default().remove(id);
        honest.leave(id, group).await
    }

    async fn members(&self, honest: &Honest, group: &GroupName) -> Result<Vec<Member>, BackendError> {
        let fresh = honest.members(group).await?;
        let mut rows = self.0.lock().unwrap();
        let rows = rows.entry(group.clone()).or_default();
        rows.extend(fresh.into_iter().map(|member| (member.session.clone(), member)));
        Ok(rows.values().cloned().collect())
    }
}

#[derive(Debug, Default)]
struct Unsorted;
#[async_trait]
impl Lie for Unsorted {
    async fn members(&self, honest: &Honest, group: &GroupName) -> Result<Vec<Member>, BackendError> {
        let mut members = honest.members(group).await?;
        members.reverse();
        Ok(members)
    }
}

#[derive(Debug, Default)]
struct Twins;
#[async_trait]
impl Lie for Twins {
    async fn members(&self, honest: &Honest, group: &GroupName) -> Result<Vec<Member>, BackendError> {
        let mut members = honest.members(group).await?;
        members.extend(members.first().cloned());
        members.sort_by(|one, other| one.session.cmp(&other.session));
        Ok(members)
    }
}

/// A subscription from which one kind of hint never comes.
struct Without {
    hints: Box<dyn HintSource>,
    is_dropped: fn(&Hint) -> bool,
    unwants: bool,
}

impl Stream for Without {
    type Item = Hint;
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Hint>> {
        loop {
            let hint = ready!(Pin::new(&mut *self.hints).poll_next(cx));
            if !hint.as_ref().is_some_and(self.is_dropped) {
                return Poll::Ready(hint);
            }
        }
    }
}

impl HintSource for Without {
    fn want(&mut self, name: &LeaseName) {
        self.hints.want(name);
    }
    fn unwant(&mut self, name: &LeaseName) {
        if self.unwants {
            self.hints.unwant(name);
        }
    }
}

fn without(honest: &Honest, is_dropped: fn(&Hint) -> bool, unwants: bool) -> Option<Box<dyn HintSource>> {
    Some(Box::new(Without { hints: honest.hints()?, is_dropped, unwants }))
}

#[derive(Debug, Default)]
struct HintsNoRelease;
impl Lie for HintsNoRelease {
    fn hints(&self, honest: &Honest) -> Option<Box<dyn HintSource>> {
        without(honest, |hint| matches!(hint, Hint::Released { .. }), true)
    }
}

#[derive(Debug, Default)]
struct NoHints;
impl Lie for NoHints {
    fn hints(&self, _: &Honest) -> Option<Box<dyn HintSource>> {
        None
    }
}

#[derive(Debug, Default)]
struct UndeclaredHints;
impl Lie for UndeclaredHints {
    fn capabilities(&self, honest: &Honest) -> Capabilities {
        let mut capabilities = honest.capabilities();
        capabilities.hints = false;
        capabilities
    }
}

#[derive(Debug, Default)]
struct KeepsWanting;
impl Lie for KeepsWanting {
    fn hints(&self, honest: &Honest) -> Option<Box<dyn HintSource>> {
        without(honest, |_| false, false)
    }
}

#[derive(Debug, Default)]
struct HintsNoGap;
impl Lie for HintsNoGap {
    fn hints(&self, honest: &Honest) -> Option<Box<dyn HintSource>> {
        without(honest, |hint| *hint == Hint::Gap, true)
    }
}

/// The first try after a release is refused.
#[derive(Debug, Default)]
struct FreesLate(Mutex<Vec<LeaseName>>);
#[async_trait]
impl Lie for FreesLate {
    async fn acquire(
        &self,
        honest: &Honest,
        id: &SessionId,
        names: &[LeaseName],
    ) -> Result<Acquired, BackendError> {
        let late = self.0.lock().unwrap().extract_if(.., |late| names.contains(late)).next();
        if let Some(late) = late {
            return Ok(Acquired::Answers(vec![(late, Acquisition::Held { free_in: None })]));
        }
        honest.acquire(id, names).await
    }

    async fn release(
        &self,
        honest: &Honest,
        id: &SessionId,
        leases: &[(LeaseName, Token)],
    ) -> Result<Vec<(LeaseName, Release)>, BackendError> {
        self.0.lock().unwrap().extend(leases.iter().map(|(name, _)| name.clone()));
        honest.release(id, leases).await
    }
}
