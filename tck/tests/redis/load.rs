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

/// The least that 10,000 leases could be renewed with. Done in one go, on names of their own.
const RAW: &str = "for i = 1, 10000 do
  local key = 'raw:' .. i
  redis.call('HMGET', key, 'session', 'token', 'expires')
  redis.call('HSET', key, 'expires', i)
end";

/// How long that takes on this machine, at this time.
async fn raw(operator: &mut Operator) -> Duration {
    usage(operator).await;
    let _: ::redis::Value = operator.words(&["EVAL", RAW, "0"]).await;
    usage(operator).await.1
}

/// One time through everything that is done with many leases.
struct Round {
    acquired_in: Duration,
    kept_in: Duration,
    longest: Duration,
}

async fn round(server: &Storage, operator: &mut Operator) -> Round {
    let mine = Peer::open(server.connect().await, LONG).await;
    let all = names("n", 10_000);
    operator.run("SLOWLOG RESET").await;
    usage(operator).await;
    let begun = now();
    let answers = mine.acquire_all(&all).await;
    let acquired_in = begun.elapsed();
    tell("acquired", operator).await;
    assert!(answers.iter().all(|(_, answer)| matches!(answer, Acquisition::Granted { .. })));
    let mut kept_in = Duration::MAX;
    for _ in 0..3 {
        assert_eq!(mine.owned().await.unwrap().len(), 10_000);
        kept_in = kept_in.min(tell("kept alive", operator).await);
    }
    let half = mine.owned().await.unwrap().split_off(5000);
    usage(operator).await;
    mine.backend.release(&mine.session, &half).await.unwrap();
    tell("released, half of them", operator).await;
    mine.backend.close_session(&mine.session).await.unwrap();
    tell("closed with the session, the other half", operator).await;
    let slow: Vec<(u64, u64, u64)> = operator
        .ask::<Vec<Vec<::redis::Value>>>("SLOWLOG GET 100")
        .await
        .into_iter()
        .map(|entry| ::redis::from_redis_value(::redis::Value::Array(entry[..3].to_vec())).unwrap())
        .collect();
    let longest = Duration::from_micros(slow.iter().map(|(_, _, micros)| *micros).max().unwrap_or(0));
    println!("acquired in {acquired_in:?} by the client's clock; the longest script took {longest:?}");
    Round { acquired_in, kept_in, longest }
}

async fn tell(what: &str, operator: &mut Operator) -> Duration {
    let (calls, used) = usage(operator).await;
    println!("10,000 leases {what}: {calls} scripts, {used:?} of the server's time");
    used
}

/// The server counts the time that it stands still among others, too: the best of some rounds tells, and on a slow
/// machine what the plain commands take there.
#[tokio::test]
async fn ten_thousand_leases_hold_the_server_up_for_moments_only() {
    let server = Storage::fresh().await;
    let mut operator = server.operators().await.remove(0);
    operator.run("CONFIG SET slowlog-log-slower-than 1000").await;
    raw(&mut operator).await;
    let (mut rounds, mut plain) = (Vec::new(), Duration::MAX);
    for _ in 0..4 {
        rounds.push(round(&server, &mut operator).await);
        plain = plain.min(raw(&mut operator).await);
    }
    println!("10,000 hashes read and written: {plain:?} of the server's time");
    let acquired_in = rounds.iter().map(|round| round.acquired_in).min().unwrap();
    assert!(acquired_in < Duration::from_secs(2), "10,000 leases are acquired in {acquired_in:?}");
    let kept_in = rounds.iter().map(|round| round.kept_in).min().unwrap();
    assert!(kept_in <= Duration::from_millis(40).max(plain * 3), "a keep-alive takes {kept_in:?}");
    let longest = rounds.iter().map(|round| round.longest).min().unwrap();
    assert!(longest <= Duration::from_millis(10).max(plain / 2), "the longest script takes {longest:?}");
}
