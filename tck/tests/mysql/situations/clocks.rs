//! Clocks and time zones.

use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use simba_backends::{KeepAlive, mysql::MySqlBackend};
use simba_servers::Offset;
use simba_tck::Fixture;
use sqlx::mysql::MySqlConnectOptions;
use tokio::time::sleep;

use crate::{
    fixture::{Server, Usual},
    peer::{Peer, name, now},
};

const LEASE: Duration = Duration::from_secs(2);

/// 2026-10-25 01:00 in UTC: in Berlin the clock goes from 03:00 back to 02:00.
const SUMMER_ENDS: Duration = Duration::from_secs(1_792_890_000);

/// 2027-03-28 01:00 in UTC: in Berlin the clock goes from 02:00 on to 03:00.
const SUMMER_BEGINS: Duration = Duration::from_secs(1_806_195_600);

/// What a server needs to know of Berlin for a year.
const BERLIN: &str = "
    insert into mysql.time_zone (time_zone_id, use_leap_seconds) values (4711, 'N');
    insert into mysql.time_zone_name (name, time_zone_id) values ('Europe/Berlin', 4711);
    insert into mysql.time_zone_transition_type
        (time_zone_id, transition_type_id, `offset`, is_dst, abbreviation)
        values (4711, 0, 3600, 0, 'CET'), (4711, 1, 7200, 1, 'CEST');
    insert into mysql.time_zone_transition (time_zone_id, transition_time, transition_type_id)
        values (4711, 1774746000, 1), (4711, 1792890000, 0), (4711, 1806195600, 1), (4711, 1824944400, 0)";

#[expect(clippy::disallowed_methods, reason = "the server's clock is set by it; no lease is measured")]
fn offset_to(time: Duration) -> Offset {
    let today = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    match time.checked_sub(today) {
        Some(ahead) => Offset::Ahead(ahead),
        None => Offset::Behind(today - time),
    }
}

/// The wall clock in Berlin passes the hour that it has twice, or not at all, while the session lives.
async fn a_session_lives_through(change: Duration) {
    let server = Server::<Usual>::fresh().await;
    let mut operator = server.operator().await;
    operator.run(BERLIN).await;
    server.mysql.step_clock(offset_to(change - Duration::from_secs(2))).unwrap();
    let options: MySqlConnectOptions = server.url().parse().unwrap();
    let options = options.timezone("Europe/Berlin".to_owned());
    let backend = MySqlBackend::builder_with_options(options).connect().await.unwrap();
    let peer = Peer::open(Arc::new(backend), LEASE).await;
    peer.granted(&name("n")).await;
    let mut last = now();
    for _ in 0..12 {
        sleep(LEASE / 5).await;
        let answer = peer.backend.keep_alive(&peer.session, LEASE).await.unwrap();
        let elapsed = last.elapsed();
        last = now();
        let KeepAlive::Live { remaining, owned, server_elapsed, .. } = answer else {
            panic!("it was kept alive");
        };
        assert!(remaining > LEASE / 2 && remaining <= LEASE, "{remaining:?}");
        assert_eq!(owned.len(), 1);
        let server_elapsed = server_elapsed.unwrap();
        let difference = server_elapsed.abs_diff(elapsed);
        assert!(difference < Duration::from_secs(60), "{server_elapsed:?} there, {elapsed:?} here");
    }
    let changed = operator.number(&format!("select unix_timestamp() > {}", change.as_secs())).await;
    assert_eq!(changed, 1, "it has lived through the change");
    sleep(LEASE * 5 / 4).await;
    assert!(peer.owned().await.is_none(), "no hour was given to it");
}

#[tokio::test]
async fn the_end_of_summer_time_gives_no_session_an_hour() {
    a_session_lives_through(SUMMER_ENDS).await;
}

#[tokio::test]
async fn the_begin_of_summer_time_takes_no_hour_from_a_session() {
    a_session_lives_through(SUMMER_BEGINS).await;
}

#[tokio::test]
async fn a_step_of_the_servers_clock_ends_sessions_and_tokens_rise() {
    let server = Server::<Usual>::fresh().await;
    let holder = Peer::open(server.connect().await, Duration::from_secs(600)).await;
    let n = name("n");
    let token = holder.granted(&n).await;
    server.mysql.step_clock(Offset::Ahead(Duration::from_secs(3600))).unwrap();
    assert!(holder.owned().await.is_none());
    let next = Peer::open(server.connect().await, Duration::from_secs(600)).await;
    let second = next.granted(&n).await;
    assert!(second > token);
    server.mysql.step_clock(Offset::None).unwrap();
    let KeepAlive::Live { remaining, server_elapsed, .. } =
        next.backend.keep_alive(&next.session, next.lease).await.unwrap()
    else {
        panic!("it lives for an hour longer");
    };
    assert!(remaining <= next.lease, "{remaining:?}");
    assert_eq!(server_elapsed, Some(Duration::ZERO), "its clock has gone back");
    next.release(&n, second).await;
    assert!(next.granted(&n).await > second);
}
