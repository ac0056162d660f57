//! Groups: G1 to G3.

use simba_backends::{Joined, SessionId};

use crate::{
    Fixture,
    contender::{Contender, group, outlast},
};

/// **G1** Who has joined is in the very next view.
pub async fn g1_who_has_joined_is_in_the_very_next_view(fixture: &dyn Fixture) {
    let witness = Contender::lasting(fixture).await;
    let g = group("g");
    assert_eq!(witness.view(&g).await, []);
    let mut expected: Vec<SessionId> = Vec::new();
    for _ in 0..5 {
        let mine = Contender::lasting(fixture).await;
        assert_eq!(mine.join(&g).await, Joined::Member);
        expected.push(mine.session.clone());
        expected.sort();
        assert_eq!(witness.view(&g).await, expected, "another client's very next view");
        assert_eq!(mine.view(&g).await, expected, "its own very next view");
    }
    let racers = many(fixture, 8).await;
    let seen = Contender::race(&racers, |racer| async move {
        racer.join(&group("raced")).await;
        racer.view(&group("raced")).await.contains(&racer.session)
    })
    .await;
    assert!(seen.into_iter().all(|seen| seen), "each racing member sees itself");
    assert_eq!(witness.view(&group("raced")).await.len(), 8);
    assert_eq!(witness.view(&g).await, expected, "another group is another group");
}

/// **G2** Leave, close and expiry remove a member.
pub async fn g2_leave_close_and_expiry_remove_a_member(fixture: &dyn Fixture) {
    let stays = Contender::lasting(fixture).await;
    let (leaves, closes) = (Contender::lasting(fixture).await, Contender::lasting(fixture).await);
    let (g, h) = (group("g"), group("h"));
    for member in [&stays, &leaves, &closes] {
        member.join(&g).await;
        member.join(&h).await;
    }
    leaves.leave(&g).await;
    leaves.leave(&g).await;
    stays.leave(&group("never-joined")).await;
    assert_eq!(stays.view(&g).await, sessions(&[&stays, &closes]));
    assert_eq!(stays.view(&h).await, sessions(&[&stays, &leaves, &closes]), "it left one group only");
    assert_eq!(leaves.alive().await.groups, std::slice::from_ref(&h));
    leaves.join(&g).await;
    assert_eq!(stays.view(&g).await, sessions(&[&stays, &leaves, &closes]), "who left may join again");
    closes.close().await;
    assert_eq!(stays.view(&g).await, sessions(&[&stays, &leaves]));

    let dies = Contender::open(fixture).await;
    dies.join(&g).await;
    outlast(fixture).await;
    assert_eq!(stays.view(&g).await, sessions(&[&stays, &leaves]), "the dead are in no view");
    assert_eq!(dies.join(&g).await, Joined::Expired);
    assert!(dies.is_expired().await);
    assert_eq!(stays.view(&g).await, sessions(&[&stays, &leaves]));
}

/// **G3** The view is sorted by session id, without twins.
pub async fn g3_the_view_is_sorted_without_twins(fixture: &dyn Fixture) {
    let members = many(fixture, 24).await;
    let g = group("g");
    for member in members.iter().chain(&members) {
        assert_eq!(member.join(&g).await, Joined::Member, "to join twice is to be a member");
    }
    let expected = sessions(&members.iter().collect::<Vec<_>>());
    for member in &members {
        assert_eq!(member.view(&g).await, expected);
    }
    members[11].leave(&g).await;
    assert_eq!(members[0].view(&g).await.len(), 23, "who joined twice leaves once");
    let groups = members[0].alive().await.groups;
    assert_eq!(groups, [g], "a keep-alive lists no group twice");
}

async fn many(fixture: &dyn Fixture, count: usize) -> Vec<Contender> {
    let first = Contender::lasting(fixture).await;
    let mut all = Vec::new();
    for _ in 1..count {
        all.push(Contender::on(first.backend.clone(), first.lease).await);
    }
    all.push(first);
    all
}

fn sessions(members: &[&Contender]) -> Vec<SessionId> {
    let mut ids: Vec<_> = members.iter().map(|member| member.session.clone()).collect();
    ids.sort();
    ids
}
