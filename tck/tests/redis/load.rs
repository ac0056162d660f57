//! What is printed: how long things take, by the server's own figures.

use std::time::Duration;

use simba_backends::Acquisition;
use simba_tck::Fixture;

use crate::{
    Storage,
    peer::{LONG, Peer, names, now},
    redis_kit::operator::Operator,
};

/// What the scripts have taken of the server's time since this was asked last, and how many they were.
async fn usage(operator: &mut Operator) -> (u64, Duration) {
    let text: String = operator.ask("INFO commandstats").await;
    let (mut calls, mut micros) = (0, 0);
    for line in text.lines() {
        let Some((name, figures)) = line.split_once(':') else { continue };
        if !["cmdstat_eval", "cmdstat_evalsha"].contains(&name) {
            continue;
        }
        for figure in figures.split(',') {
            match figure.split_once('=') {
                Some(("calls", number)) => calls += number.parse::<u64>().unwrap(),
                Some(("usec", number)) => micros += number.parse::<u64>().unwrap(),
                _ => {}
            }
        }
    }
    operator.run("CONFIG RESETSTAT").await;
    (calls, Duration::from_micros(micros))
}

#[tokio::test]
async fn ten_thousand_leases_hold_the_server_up_for_moments_only() {
    let server = Storage::fresh().await;
    let mut operator = server.operators().await.remove(0);
    let mine = Peer::open(server.connect().await, LONG).await;
    operator.run("CONFIG SET slowlog-log-slower-than 10000").await;
    operator.run("SLOWLOG RESET").await;
    usage(&mut operator).await;
    let all = names("n", 10_000);
    let begun = now();
    let answers = mine.acquire_all(&all).await;
    let took = begun.elapsed();
    let (calls, used) = usage(&mut operator).await;
    println!("10,000 new leases acquired in {took:?}: {calls} scripts, {used:?} of the server's time");
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Acquisition::Granted { .. })));
    assert!(took < Duration::from_secs(2), "{took:?}");
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let begun = now();
        assert_eq!(mine.owned().await.unwrap().len(), 10_000);
        let took = begun.elapsed();
        let (calls, used) = usage(&mut operator).await;
        println!("10,000 leases kept alive in {took:?}: {calls} scripts, {used:?} of the server's time");
        least = least.min(used);
    }
    let owned = mine.owned().await.unwrap();
    usage(&mut operator).await;
    mine.backend.release(&mine.session, &owned).await.unwrap();
    let (calls, used) = usage(&mut operator).await;
    println!("10,000 leases released: {calls} scripts, {used:?} of the server's time");
    mine.acquire_all(&all).await;
    usage(&mut operator).await;
    mine.backend.close_session(&mine.session).await.unwrap();
    let (calls, used) = usage(&mut operator).await;
    println!("a session with 10,000 leases closed: {calls} scripts, {used:?} of the server's time");
    let slow: Vec<Vec<::redis::Value>> = operator.ask("SLOWLOG GET 10").await;
    println!("scripts of more than 10 ms: {}", slow.len());
    assert!(slow.is_empty(), "{slow:?}");
    assert!(least <= Duration::from_millis(40), "the best of five keep-alives takes {least:?}");
}
