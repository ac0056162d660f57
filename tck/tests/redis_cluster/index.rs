//! The list of what a session may hold.

use simba_tck::Fixture;

use crate::{
    Storage,
    peer::{LONG, Peer, name, names},
    redis_kit::keys,
};

#[tokio::test]
async fn ever_new_names_let_no_index_grow_for_ever() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let index = keys::leases_of(&mine.session);
    let mut home = server.operator_of(&index).await;
    let kept = name("kept");
    let token = mine.granted(&kept).await;
    let mut longest = 0;
    for round in 0..20 {
        let some = names(&format!("r{round}"), 20);
        let leases: Vec<_> = mine
            .acquire_all(&some)
            .await
            .into_iter()
            .map(|(name, answer)| match answer {
                simba_backends::Acquisition::Granted { token, .. } => (name, token),
                other => panic!("{name}: {other:?}"),
            })
            .collect();
        mine.backend.release(&mine.session, &leases).await.unwrap();
        longest = longest.max(home.ask::<u32>(&format!("SCARD {index}")).await);
    }
    assert!(longest <= 100, "{longest} names are listed, and one is held");
    for _ in 0..2 {
        assert_eq!(mine.owned().await.unwrap(), [(kept.clone(), token)]);
    }
    assert_eq!(home.ask::<Vec<String>>(&format!("SMEMBERS {index}")).await, [kept.as_str()]);
}

/// A stale release is about a term that is over.
#[tokio::test]
async fn a_release_of_an_earlier_term_takes_the_running_one_out_of_no_list() {
    let server = Storage::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    let first = mine.granted(&n).await;
    mine.release(&n, first).await;
    let second = mine.granted(&n).await;
    mine.release(&n, first).await;
    for _ in 0..2 {
        assert_eq!(mine.owned().await.unwrap(), [(n.clone(), second)]);
    }
}
