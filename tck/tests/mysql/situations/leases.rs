//! Leases whose rows somebody has locked.

use simba_backends::{Acquisition, Joined, Release};
use simba_tck::Fixture;
use tokio::time::timeout;

use crate::{
    fixture::{Server, Usual},
    peer::{BOUND, LONG, Peer, name, names},
};

/// One is locked, one is being inserted and one deleted by transactions that do not end.
#[tokio::test]
async fn while_one_lease_is_locked_every_other_name_goes_on() {
    let server = Server::<Usual>::fresh().await;
    let (mine, other) =
        (Peer::open(server.connect().await, LONG).await, Peer::open(server.connect().await, LONG).await);
    let all = names("n", 1000);
    let (locked, inserted, deleted) = (&all[400], name("inserted"), name("deleted"));
    let token = mine.granted(locked).await;
    let once = other.granted(&deleted).await;
    other.release(&deleted, once).await;
    let hold = server.hold_lease(locked).await.unwrap();
    let insert = server.hold(format!("insert into simba_lease values ('{inserted}', '', 1)")).await;
    let delete = server.hold(format!("delete from simba_lease where name = '{deleted}'")).await;

    for round in 0..5 {
        let asked: Vec<_> = all.iter().chain([&inserted, &deleted]).cloned().collect();
        let answers = timeout(BOUND, mine.acquire_all(&asked)).await.expect("nobody waits for a locked name");
        let mut leases = Vec::new();
        for (name, answer) in answers {
            match answer {
                Acquisition::Granted { token, .. } => leases.push((name, token)),
                Acquisition::AlreadyOwned { .. } => assert_eq!(&name, locked, "round {round}"),
                Acquisition::Held { .. } => {
                    assert!(name == inserted || name == deleted, "round {round}: {name}: {answer:?}");
                }
                Acquisition::Failed(_) => panic!("round {round}: {name}: {answer:?}"),
            }
        }
        assert_eq!(leases.len(), 999);
        assert!(matches!(other.acquire(locked).await, Acquisition::Held { free_in: Some(_) }));
        leases.push((locked.clone(), token));
        for (name, answer) in mine.backend.release(&mine.session, &leases).await.unwrap() {
            match answer {
                Release::Gone => assert_ne!(&name, locked),
                Release::Failed(error) => assert_eq!(&name, locked, "{error:?}"),
            }
        }
        assert_eq!(mine.owned().await.unwrap(), [(locked.clone(), token)]);
    }
    insert.end().await;
    delete.end().await;
    mine.granted(&inserted).await;
    assert!(mine.granted(&deleted).await > once);
    hold.end().await;
    mine.release(locked, token).await;
    assert!(other.granted(locked).await > token);
}

/// A close leaves the locked lease as it is: without its session it is nobody's.
#[tokio::test]
async fn a_session_whose_lease_is_locked_closes_and_all_it_had_is_free() {
    let server = Server::<Usual>::fresh().await;
    let (mine, other) =
        (Peer::open(server.connect().await, LONG).await, Peer::open(server.connect().await, LONG).await);
    let (locked, n) = (name("locked"), name("n"));
    let token = mine.granted(&locked).await;
    mine.granted(&n).await;
    let hold = server.hold_lease(&locked).await.unwrap();
    timeout(BOUND, mine.backend.close_session(&mine.session)).await.unwrap().unwrap();
    assert_eq!(other.holder(&locked).await, None);
    other.granted(&n).await;
    assert!(other.is_held(&locked).await, "who has the lock may yet do anything");
    hold.end().await;
    assert!(other.granted(&locked).await > token);
}

#[tokio::test]
async fn a_join_by_a_dead_session_leaves_no_row() {
    let server = Server::<Usual>::fresh().await;
    let dead = Peer::open(server.connect().await, LONG).await;
    server.half_close(&dead.session).await.unwrap();
    let joined = dead.backend.join(&dead.session, &"crew".parse().unwrap()).await.unwrap();
    assert_eq!(joined, Joined::Expired);
    assert_eq!(server.census().await.unwrap().memberships, 0);
}

/// Somebody has deleted the row of a name that this process knows.
#[tokio::test]
async fn a_name_whose_row_was_deleted_by_hand_is_granted_again() {
    let server = Server::<Usual>::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    let token = mine.granted(&n).await;
    mine.release(&n, token).await;
    server.operator().await.run("delete from simba_lease").await;
    mine.granted(&n).await;
}
