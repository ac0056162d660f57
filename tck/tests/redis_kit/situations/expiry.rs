//! What nobody has to remove.

use std::time::Duration;

use simba_backends::Joined;
use simba_tck::Fixture;

use crate::{
    Storage,
    peer::{LONG, Peer, eventually, name, names},
    redis_kit::keys,
};

#[tokio::test]
async fn the_dead_leave_a_group_when_the_next_one_joins() {
    let server = Storage::fresh().await;
    let lives = Peer::open(server.connect().await, LONG).await;
    let brief = Duration::from_millis(300);
    let (g, key) = ("g".parse().unwrap(), keys::group("g"));
    let mut there = server.operator_of(&key).await;
    for _ in 0..3 {
        let dies = Peer::open(lives.backend.clone(), brief).await;
        // Where that took longer than its lease it is dead already.
        let _: Joined = dies.backend.join(&dies.session, &g).await.unwrap_or(Joined::Expired);
    }
    eventually("they are dead", async || lives.backend.members(&g).await.unwrap().is_empty()).await;
    assert_eq!(lives.backend.join(&lives.session, &g).await.unwrap(), Joined::Member);
    let left: Vec<String> = there.ask(&format!("ZRANGE {key} 0 -1")).await;
    assert_eq!(left, [lives.session.as_str()]);
}

#[tokio::test]
async fn what_an_expired_session_had_goes_within_two_leases_and_tokens_stay() {
    let server = Storage::fresh().await;
    let lease = Duration::from_secs(5);
    let dies = Peer::open(server.connect().await, lease).await;
    let all = names("n", 3);
    dies.acquire_all(&all).await;
    dies.backend.join(&dies.session, &"g".parse().unwrap()).await.unwrap();
    let kept = server.keys("simba:session:*").await;
    assert_eq!(kept.len(), 3, "{kept:?}");
    let mut home = server.operator_of(&kept[0]).await;
    for key in &kept {
        let left: i64 = home.ask(&format!("PTTL {key}")).await;
        // An index outlasts what it lists by a second.
        assert!(left > 0 && left <= 11_000, "{key} stays for {left} ms");
    }
    for key in &kept {
        // As time would.
        home.run(&format!("PEXPIRE {key} 1")).await;
    }
    eventually("its keys are gone", async || server.keys("simba:session:*").await.is_empty()).await;
    assert_eq!(server.keys("simba:lease:*").await.len(), 3);
    assert_eq!(dies.owned().await, None);
}

#[tokio::test]
async fn nothing_of_a_closed_session_stays_but_tokens() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let (kept, released) = (names("kept", 40), name("released"));
    mine.acquire_all(&kept).await;
    for group in ["g", "h", "left"] {
        mine.backend.join(&mine.session, &group.parse().unwrap()).await.unwrap();
    }
    mine.backend.leave(&mine.session, &"left".parse().unwrap()).await.unwrap();
    let token = mine.granted(&released).await;
    mine.release(&released, token).await;
    mine.backend.close_session(&mine.session).await.unwrap();
    let left = server.keys("*").await;
    assert!(left.iter().all(|key| key.starts_with("simba:lease:")), "{left:?}");
    assert_eq!(left.len(), 41);
}
