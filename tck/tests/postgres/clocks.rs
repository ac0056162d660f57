//! Clocks and settings that must not matter, and one that does.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use simba_servers::{Offset, Options};
use simba_tck::{
    Fixture,
    contract::{group, lease, session},
    run,
};
use tokio::time::sleep;

use crate::{
    fixture::{Direct, Server, Way},
    peer::{LONG, Peer, name},
};

/// Settings of a server that somebody may have their reasons for.
struct Odd;

impl Way for Odd {
    fn options() -> Options {
        Options::new()
            .set("timezone", "Europe/Berlin")
            .set("datestyle", "German, DMY")
            .set("intervalstyle", "iso_8601")
            .set("standard_conforming_strings", "off")
            .set("backslash_quote", "off")
            .set("escape_string_warning", "on")
            .set("bytea_output", "escape")
            .set("client_encoding", "LATIN1")
            .set("extra_float_digits", "-15")
            .set("default_transaction_deferrable", "on")
            .set("row_security", "off")
            .set("lock_timeout", "1")
            .set("jit_above_cost", "0")
            .set("synchronous_commit", "off")
    }
}

macro_rules! odd {
    ($($part:ident::$sentence:ident,)*) => {
        $(
            #[test]
            fn $sentence() {
                run::<Server<Odd>>(|fixture| Box::pin($part::$sentence(fixture)));
            }
        )*
    };
}

odd! {
    session::s2_a_keep_alive_restores_the_lease_and_lists_what_is_held,
    session::s3_a_session_not_kept_alive_is_expired_and_never_revived,
    session::s5_metadata_comes_back_in_members_and_inspect,
    lease::l4_a_held_name_says_so_and_for_how_long,
    lease::l7_leases_of_an_expired_session_can_be_taken,
    lease::l8_names_are_distinct_to_the_last_character,
    group::g2_leave_close_and_expiry_remove_a_member,
}

/// When clocks in Berlin went, or will go, from 2 to 3 o'clock.
const GAP: Duration = Duration::from_secs(1_806_195_600);

#[expect(clippy::disallowed_methods, reason = "the server's wall clock is set by the machine's")]
fn offset_to(time: Duration) -> Offset {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    if time > now { Offset::Ahead(time - now) } else { Offset::Behind(now - time) }
}

#[tokio::test]
async fn leases_last_as_long_as_ever_when_summer_time_begins() {
    let server = Server::<Odd>::fresh().await;
    let mut operator = server.operator().await;
    operator.run("alter role app set timezone = 'Europe/Berlin'").await;
    server.postgres.step_clock(offset_to(GAP - Duration::from_secs(1))).unwrap();
    let local = "select extract(hour from clock_timestamp() at time zone 'Europe/Berlin')::bigint";
    assert_eq!(operator.number(local).await, 1);

    let lease = Duration::from_secs(2);
    let (mine, other) =
        (Peer::open(server.connect().await, lease).await, Peer::open(server.connect().await, LONG).await);
    let n = name("n");
    let token = mine.granted(&n).await;
    for _ in 0..6 {
        sleep(lease / 4).await;
        assert_eq!(mine.owned().await.expect("it is kept alive").len(), 1);
        let free_in = other.holder(&n).await.expect("it is held").free_in.expect("it is known");
        assert!(free_in <= lease && free_in > lease / 2, "{free_in:?}");
    }
    assert_eq!(operator.number(local).await, 3, "the gap was in between");
    sleep(lease * 5 / 4).await;
    assert!(other.granted(&n).await > token);
    assert_eq!(mine.owned().await, None);
}

#[tokio::test]
async fn a_server_clock_an_hour_ahead_expires_all_and_tokens_rise() {
    let server = Server::<Direct>::fresh().await;
    let lease = Duration::from_secs(60);
    let (mine, other) =
        (Peer::open(server.connect().await, lease).await, Peer::open(server.connect().await, lease).await);
    let n = name("n");
    let token = mine.granted(&n).await;
    server.postgres.step_clock(Offset::Ahead(Duration::from_secs(3600))).unwrap();
    assert_eq!(mine.owned().await, None);
    assert_eq!(other.owned().await, None);
    let next = Peer::open(server.connect().await, lease).await;
    assert!(next.granted(&n).await > token);
    assert_eq!(next.owned().await.unwrap().len(), 1);
}
