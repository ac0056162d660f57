//! Groups whose members are of two processes.

use simba_backends::{GroupName, Joined, SessionId};
use simba_tck::Fixture;

use super::{Here, LONG};
use crate::rival::Child;

fn group(text: &str) -> GroupName {
    text.parse().unwrap()
}

impl Here {
    async fn join(&self, session: &SessionId, group: &GroupName) {
        assert_eq!(self.backend.join(session, group).await.unwrap(), Joined::Member);
    }

    async fn members(&self, group: &GroupName) -> Vec<SessionId> {
        let members = self.backend.members(group).await.unwrap();
        members.into_iter().map(|member| member.session).collect()
    }
}

/// The very next view of both processes.
async fn both_see(here: &Here, there: &mut Child, group: &GroupName, members: &[&SessionId]) {
    let mut expected: Vec<_> = members.iter().map(|&member| member.clone()).collect();
    expected.sort();
    assert_eq!(here.members(group).await, expected);
    assert_eq!(there.members(group).await, expected);
}

#[tokio::test]
async fn g1_and_g3_both_processes_have_the_same_view_sorted_and_without_twins() {
    let here = Here::open().await;
    let mut there = Child::start(&here.fixture.url()).await;
    let (g, mut joined) = (group("g"), Vec::new());
    both_see(&here, &mut there, &g, &[]).await;
    for round in 0..12 {
        let session = if round % 2 == 0 { here.another(LONG).await } else { there.open(LONG).await };
        if round % 2 == 0 {
            here.join(&session, &g).await;
        } else {
            there.join(&session, &g).await;
        }
        joined.push(session);
        both_see(&here, &mut there, &g, &joined.iter().collect::<Vec<_>>()).await;
    }
    if here.shares_sessions() {
        for session in &joined {
            tokio::join!(here.join(session, &g), there.join(session, &g));
        }
        both_see(&here, &mut there, &g, &joined.iter().collect::<Vec<_>>()).await;
        there.leave(&joined[0], &g).await;
    } else {
        here.backend.leave(&joined[0], &g).await.unwrap();
    }
    both_see(&here, &mut there, &g, &joined[1..].iter().collect::<Vec<_>>()).await;
    both_see(&here, &mut there, &group("h"), &[]).await;
}

#[tokio::test]
async fn g2_leave_close_and_expiry_remove_a_member_for_both() {
    let here = Here::open().await;
    let mut there = Child::start(&here.fixture.url()).await;
    let g = group("g");
    let (ours, theirs, closes) = (&here.session, there.open(LONG).await, there.open(LONG).await);
    here.join(ours, &g).await;
    there.join(&theirs, &g).await;
    there.join(&closes, &g).await;
    both_see(&here, &mut there, &g, &[ours, &theirs, &closes]).await;

    here.backend.leave(ours, &g).await.unwrap();
    both_see(&here, &mut there, &g, &[&theirs, &closes]).await;
    there.close(&closes).await;
    both_see(&here, &mut there, &g, &[&theirs]).await;
    here.join(ours, &g).await;
    if here.shares_sessions() {
        here.backend.leave(&theirs, &g).await.unwrap();
    } else {
        there.leave(&theirs, &g).await;
    }
    both_see(&here, &mut there, &g, &[ours]).await;

    let dies = there.open(here.fixture.lease()).await;
    there.join(&dies, &g).await;
    there.kill_now().await;
    here.fixture.pass(here.fixture.lease() * 5 / 4).await;
    assert_eq!(here.members(&g).await, std::slice::from_ref(ours), "the dead are in no view");
}
