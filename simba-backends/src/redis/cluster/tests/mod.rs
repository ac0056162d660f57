//! Calls among nodes that say what no real ones can be brought to say at a given moment. Time is real, for sockets
//! know no other; no test waits longer than its limits.

mod fake;

use std::time::Duration;

use redis::Value;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use self::fake::{Fake, Says, View, cluster};
use super::{
    super::{
        key::slot,
        node::Lane,
        script::{self, Call},
    },
    Cluster,
};
use crate::{BackendError, ErrorKind, Outcome, clock::since_boot};

const LIMIT: Duration = Duration::from_secs(5);
/// Much longer than an exchange, much shorter than [`LIMIT`].
const SOON: Duration = Duration::from_secs(2);

/// A call to the first half of the slots, or to the second.
fn call(half: usize) -> Call {
    let belongs = |key: &String| usize::from(slot(key) > 8191) == half;
    Call::new(&script::LOOK).key((0..).map(|i| format!("key{i}")).find(belongs).unwrap())
}

fn view(epoch: u64, owners: [&Fake; 2]) -> View {
    let slots = vec![(0, 8191, owners[0].port), (8192, 16_383, owners[1].port)];
    View { state: "ok", epoch, slots, late: Duration::ZERO }
}

/// Two nodes with half of the slots each.
async fn two() -> (Fake, Fake, Cluster) {
    let (a, b) = (Fake::start().await, Fake::start().await);
    both_see(&a, &b, [&a, &b]);
    let cluster = cluster(&[&a, &b]);
    run(&cluster, call(1), LIMIT).await.unwrap();
    (a, b, cluster)
}

fn both_see(a: &Fake, b: &Fake, owners: [&Fake; 2]) {
    for node in [a, b] {
        node.sees(Some(view(1, owners)));
    }
}

async fn run(cluster: &Cluster, call: Call, limit: Duration) -> Result<Value, BackendError> {
    cluster.run(Lane::KeepAlive, &call, limit).await
}

/// The error of a call to the first half that every node refuses. A machine that is busy may end its last attempt
/// without an answer.
async fn given_up(cluster: &Cluster) -> BackendError {
    for _ in 0..5 {
        let answer = timeout(SOON, run(cluster, call(0), Duration::from_millis(200))).await.unwrap();
        let error = answer.unwrap_err();
        if error.kind() != ErrorKind::Timeout {
            return error;
        }
    }
    panic!("no node has refused the call");
}

fn is(error: &BackendError, kind: ErrorKind, outcome: Outcome) -> bool {
    (error.kind(), error.outcome()) == (kind, outcome)
}

#[tokio::test]
async fn a_slot_that_has_moved_is_found_at_its_new_owner_from_then_on() {
    let (a, b, cluster) = two().await;
    both_see(&a, &b, [&b, &b]);
    a.says(&[Says::Go("MOVED", b.port)]);
    run(&cluster, call(0), LIMIT).await.unwrap();
    run(&cluster, call(0), LIMIT).await.unwrap();
    assert_eq!((a.calls(), b.calls(), b.asked()), (1, 3, 0));
}

#[tokio::test]
async fn a_slot_on_its_way_is_asked_for_each_time_until_it_has_arrived() {
    let (a, b, cluster) = two().await;
    a.says(&[Says::Go("ASK", b.port)]);
    // A call of several keys waits until they are all there.
    b.says(&[Says::No("TRYAGAIN several keys"), Says::Done]);
    run(&cluster, call(0), LIMIT).await.unwrap();
    run(&cluster, call(0), LIMIT).await.unwrap();
    assert_eq!((a.calls(), b.asked()), (3, 3));
}

#[tokio::test]
async fn a_refused_call_goes_again_until_its_limit_and_was_not_applied() {
    let (a, _b, cluster) = two().await;
    for error in ["CLUSTERDOWN The cluster is down", "TRYAGAIN several keys", "LOADING Redis is loading"] {
        let before = a.calls();
        a.says(&[Says::No(error), Says::No(error), Says::Done]);
        run(&cluster, call(0), LIMIT).await.unwrap();
        assert_eq!(a.calls() - before, 3);
        a.says(&[Says::No(error)]);
        assert!(is(&given_up(&cluster).await, ErrorKind::Unavailable, Outcome::NotApplied));
    }
}

#[tokio::test]
async fn nodes_that_do_not_agree_are_not_asked_for_ever() {
    let (a, b, cluster) = two().await;
    a.says(&[Says::Go("MOVED", b.port)]);
    b.says(&[Says::Go("MOVED", a.port)]);
    assert!(is(&given_up(&cluster).await, ErrorKind::Unavailable, Outcome::NotApplied));
    // Six without a pause, and at most eight pauses of 10 to 50 ms in 200 ms.
    assert!(a.calls() + b.calls() < 5 * 60);
}

#[tokio::test]
async fn a_node_that_does_not_answer_holds_up_its_own_slots_only() {
    let (a, _b, cluster) = two().await;
    run(&cluster, call(0), LIMIT).await.unwrap();
    a.sees(None);
    let mut others = 0;
    let served = async {
        loop {
            run(&cluster, call(1), SOON).await.unwrap();
            others += 1;
        }
    };
    let hit = run(&cluster, call(0), Duration::from_millis(500));
    let failed = tokio::select! { failed = hit => failed, () = served => unreachable!() };
    assert!(is(&failed.unwrap_err(), ErrorKind::Timeout, Outcome::Unknown));
    assert!(others > 50, "{others}");
    // And so it is while its next connection is being opened.
    let begun = since_boot();
    let (failed, ()) = tokio::join!(run(&cluster, call(0), SOON), async {
        run(&cluster, call(1), SOON).await.unwrap();
        assert!(since_boot() - begun < SOON / 4);
    });
    assert!(is(&failed.unwrap_err(), ErrorKind::Timeout, Outcome::NotApplied));
}

#[tokio::test]
async fn a_call_that_waits_for_a_connection_goes_to_the_successor_once_there_is_one() {
    let (a, b, cluster) = two().await;
    a.sees(None);
    let (answer, ()) = tokio::join!(timeout(SOON, run(&cluster, call(0), LIMIT)), async {
        sleep(Duration::from_millis(300)).await;
        b.sees(Some(view(2, [&b, &b])));
    });
    answer.unwrap().unwrap();
    assert_eq!(a.calls(), 0);
}

#[tokio::test]
async fn a_call_that_nobody_received_goes_to_the_successor() {
    let (mut a, b, cluster) = two().await;
    a.die().await;
    let failed = timeout(SOON, run(&cluster, call(0), LIMIT)).await.unwrap();
    assert!(is(&failed.unwrap_err(), ErrorKind::Unavailable, Outcome::NotApplied));
    b.sees(Some(view(2, [&b, &b])));
    timeout(SOON, run(&cluster, call(0), LIMIT)).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_that_may_have_been_run_is_not_sent_again() {
    let (a, b, cluster) = two().await;
    b.sees(Some(view(2, [&b, &b])));
    a.says(&[Says::HangUp]);
    let failed = run(&cluster, call(0), LIMIT).await;
    assert!(is(&failed.unwrap_err(), ErrorKind::Unavailable, Outcome::Unknown));
    assert_eq!((a.calls(), b.calls()), (1, 1));
}

#[tokio::test]
async fn a_cut_off_primary_that_answers_first_is_not_believed() {
    for state in ["fail", "ok"] {
        let (a, b, cluster) = two().await;
        a.says(&[Says::No("CLUSTERDOWN The cluster is down")]);
        a.sees(Some(View { state, ..view(1, [&a, &b]) }));
        b.sees(Some(View { late: Duration::from_millis(150), ..view(2, [&b, &b]) }));
        timeout(SOON, run(&cluster, call(0), LIMIT)).await.unwrap().unwrap();
        // It does not come back either.
        cluster.shared.fresh_map().await;
        let before = a.calls();
        run(&cluster, call(0), LIMIT).await.unwrap();
        assert_eq!(a.calls(), before, "{state}");
    }
}

#[tokio::test]
async fn a_cluster_that_was_made_anew_is_believed_although_its_epochs_begin_again() {
    let (a, b, cluster) = two().await;
    both_see(&a, &b, [&b, &b]);
    for node in [&a, &b] {
        node.sees(Some(view(0, [&b, &b])));
    }
    cluster.shared.fresh_map().await;
    run(&cluster, call(0), LIMIT).await.unwrap();
    assert_eq!(a.calls(), 0);
}

#[tokio::test]
async fn a_seed_that_does_not_answer_delays_nobody_and_without_any_there_is_a_reason() {
    let (mut a, b) = (Fake::start().await, Fake::start().await);
    b.sees(Some(view(1, [&b, &b])));
    timeout(SOON, run(&cluster(&[&a, &b]), call(0), LIMIT)).await.unwrap().unwrap();
    let failed = timeout(SOON, run(&cluster(&[&a]), call(0), Duration::from_millis(200))).await.unwrap();
    assert!(is(&failed.unwrap_err(), ErrorKind::Timeout, Outcome::NotApplied));
    a.die().await;
    let failed = timeout(SOON, run(&cluster(&[&a]), call(0), LIMIT)).await.unwrap();
    assert!(is(&failed.unwrap_err(), ErrorKind::Unavailable, Outcome::NotApplied));
}

#[tokio::test]
async fn commands_and_subscriptions_go_to_nodes_that_answer() {
    let (a, _b, cluster) = two().await;
    a.sees(None);
    let ping = redis::cmd("PING");
    // It may be the frozen node's turn, once each.
    let _ = cluster.command(&ping, Duration::from_millis(400)).await;
    for _ in 0..2 {
        let (pushes, _heard) = mpsc::unbounded_channel();
        cluster.subscriber(pushes, Duration::from_millis(400)).await.unwrap();
    }
    for _ in 0..3 {
        let (pushes, _heard) = mpsc::unbounded_channel();
        timeout(SOON, cluster.subscriber(pushes, LIMIT)).await.unwrap().unwrap();
        timeout(SOON, cluster.command(&ping, LIMIT)).await.unwrap().unwrap();
    }
}
