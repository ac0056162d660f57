//! Rows that somebody else has locked, or changes meanwhile.

use std::time::Duration;

use simba_backends::{Acquired, Acquisition, Joined, KeepAlive, Outcome, Release};
use simba_tck::Fixture;
use tokio::time::{sleep, timeout};

use crate::{
    fixture::{Operator, Server},
    peer::{BOUND, LONG, Peer, eventually, name, names},
};

const LEASE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_keep_alive_that_waits_two_leases_for_a_lock_does_not_revive() {
    let server = Server::<crate::fixture::Direct>::fresh().await;
    let holder = Peer::open(server.connect().await, LEASE).await;
    let taker = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    holder.granted(&n).await;
    let hold = server.hold_session(&holder.session).await.unwrap();
    let waiting = tokio::spawn({
        let holder = holder.clone();
        async move { holder.backend.keep_alive(&holder.session, LONG).await }
    });
    sleep(LEASE * 2).await;
    assert!(!waiting.is_finished(), "it waits for the lock");
    hold.end().await;
    let answer = waiting.await.unwrap();
    assert!(matches!(answer, Ok(KeepAlive::Expired)), "{answer:?}");
    assert_eq!(holder.owned().await, None);
    taker.granted(&n).await;
}

/// While the row is locked and while an operator's transaction may or may not insert a name.
#[tokio::test]
async fn while_one_lease_is_locked_every_other_name_goes_on() {
    let server = Server::<crate::fixture::Direct>::fresh().await;
    let (mine, other) =
        (Peer::open(server.connect().await, LONG).await, Peer::open(server.connect().await, LONG).await);
    let all = names("n", 1000);
    let (locked, inserted) = (&all[400], name("inserted"));
    let token = mine.granted(locked).await;
    let hold = server.hold_lease(locked).await.unwrap();
    let mut operator = server.operator().await;
    operator.run(&format!("begin; insert into simba_lease values ('{inserted}', '', 1)")).await;

    for round in 0..5 {
        let asked: Vec<_> = all.iter().chain([&inserted]).cloned().collect();
        let answers = timeout(BOUND, mine.acquire_all(&asked)).await.expect("nobody waits for a locked name");
        let mut leases = Vec::new();
        for (name, answer) in answers {
            match answer {
                Acquisition::Granted { token, .. } => leases.push((name, token)),
                Acquisition::AlreadyOwned { .. } => assert_eq!(&name, locked, "round {round}"),
                Acquisition::Held { .. } | Acquisition::Failed(_) => {
                    assert_eq!(name, inserted, "round {round}: {answer:?}");
                }
            }
        }
        assert_eq!(leases.len(), 999);
        let (n, answer) = other.acquire_all(&all[400..401]).await.remove(0);
        assert!(matches!(answer, Acquisition::Held { free_in: Some(_) }), "{n}: {answer:?}");
        let locked_too: Vec<_> = leases.iter().cloned().chain([(locked.clone(), token)]).collect();
        for (name, answer) in mine.backend.release(&mine.session, &locked_too).await.unwrap() {
            match answer {
                Release::Gone => assert_ne!(&name, locked),
                Release::Failed(error) => assert_eq!(&name, locked, "{error:?}"),
            }
        }
        assert_eq!(mine.owned().await.unwrap(), [(locked.clone(), token)]);
    }
    operator.run("rollback").await;
    mine.granted(&inserted).await;
    hold.end().await;
    mine.release(locked, token).await;
    assert!(other.granted(locked).await > token);
}

/// A close leaves the locked lease as it is: without its session it is nobody's.
#[tokio::test]
async fn a_session_whose_lease_is_locked_closes_and_all_it_had_is_free() {
    let server = Server::<crate::fixture::Direct>::fresh().await;
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

/// The keep-alive came in time, and is done when nobody can see that any more: its lock tells.
#[tokio::test]
async fn l12_a_keep_alive_whose_commit_outlasts_the_lease_wins_or_sees_the_lease_gone() {
    let lease = Duration::from_secs(3);
    let server = Server::<crate::fixture::Direct>::fresh().await;
    let holder = Peer::open(server.connect().await, lease).await;
    let taker = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    let token = holder.granted(&n).await;
    let mut operator = server.operator().await;
    operator
        .run(
            "create function slow() returns trigger language plpgsql as $$
            begin perform pg_sleep(3); return null; end $$;
            create constraint trigger slow after update on simba_session deferrable initially deferred
            for each row execute function slow()",
        )
        .await;
    sleep(lease / 2).await;
    let keeping = tokio::spawn({
        let holder = holder.clone();
        async move { holder.backend.keep_alive(&holder.session, LONG).await }
    });
    sleep(lease * 3 / 4).await;
    let answer = timeout(BOUND, taker.acquire(&n)).await.expect("nobody waits for a keep-alive");
    let kept = keeping.await.unwrap().unwrap();
    assert!(matches!(&kept, KeepAlive::Live { owned, .. } if *owned == [(n, token)]), "{kept:?}");
    assert!(!matches!(answer, Acquisition::Granted { .. }), "it was kept, yet {answer:?}");
}

/// Nobody knows why somebody has a lock on a dead session; the purge does not wait to be told.
#[tokio::test]
async fn a_locked_session_keeps_no_other_from_being_purged() {
    let server = Server::<crate::fixture::Direct>::fresh().await;
    let lives = Peer::open(server.connect().await, LONG).await;
    let mut operator = server.operator().await;
    operator
        .run(
            "insert into simba_session select id, extract(epoch from clock_timestamp()) * 1000 + 5000, ''
            from unnest('{dead1,dead2,dead3}'::text[]) id",
        )
        .await;
    let hold = server.hold_session(&"dead1".parse().unwrap()).await.unwrap();
    eventually("only the locked one is left", async || {
        lives.owned().await.unwrap();
        operator.number("select count(*) from simba_session").await == 2
    })
    .await;
    hold.end().await;
    eventually("none is left", async || {
        lives.owned().await.unwrap();
        operator.number("select count(*) from simba_session").await == 1
    })
    .await;
}

/// What was read after the commit was lost, not what was written.
#[tokio::test]
async fn an_acquire_that_fails_after_its_commit_may_have_been_applied() {
    let server = Server::<crate::fixture::Direct>::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    let token = mine.granted(&n).await;
    mine.release(&n, token).await;
    let mut operator = server.operator().await;
    // Only within our own transactions is there a limit to the wait for locks.
    operator
        .run(
            "create function broken() returns boolean volatile language plpgsql as $$ begin
                if current_setting('lock_timeout') = '0' then raise 'broken'; end if;
                return true;
            end $$;
            create policy broken on simba_lease using (broken());
            alter table simba_lease enable row level security;
            alter table simba_lease force row level security",
        )
        .await;
    let error = mine.backend.acquire(&mine.session, std::slice::from_ref(&n)).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    operator.run("alter table simba_lease disable row level security").await;
    let owned = mine.owned().await.unwrap();
    assert_eq!(owned.len(), 1, "it was applied");
    assert!(owned[0].1 > token);
}

/// Not a row of theirs is left for the purge.
#[tokio::test]
async fn an_expired_session_writes_nothing() {
    let server = Server::<crate::fixture::Direct>::fresh().await;
    let mine = Peer::open(server.connect().await, LONG).await;
    let known = name("known");
    let token = mine.granted(&known).await;
    mine.release(&known, token).await;
    let mut operator = server.operator().await;
    operator.run("update simba_session set expires_at = 1").await;
    let answer = mine.backend.acquire(&mine.session, &[known, name("new")]).await.unwrap();
    assert!(matches!(answer, Acquired::Expired), "{answer:?}");
    let joined = mine.backend.join(&mine.session, &"g".parse().unwrap()).await.unwrap();
    assert_eq!(joined, Joined::Expired);
    let rows =
        "select (select count(*) from simba_member) * 1000 + (select sum(token) from simba_lease)::bigint";
    assert_eq!(operator.number(rows).await, token.as_i64());
}

/// Makes the second look of a transaction at a lease take a second: the first is the insert's, the second
/// is the take-over's, whose snapshot is taken by then.
const SLOW: &str = "
    create function slow() returns boolean volatile language plpgsql as $$
    declare looks int := coalesce(nullif(current_setting('test.looks', true), ''), '0')::int + 1;
    begin
        perform set_config('test.looks', looks::text, true);
        if looks = 2 then perform pg_sleep(1); end if;
        return true;
    end $$;
    create policy slow on simba_lease using (slow());
    alter table simba_lease enable row level security;
    alter table simba_lease force row level security";

/// Whether a message with that in it is being slow.
async fn is_asleep(operator: &mut Operator, part: &str) -> bool {
    let asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep' and query like";
    operator.number(&format!("{asleep} '%{part}%'")).await > 0
}

/// A session opens and takes the lease.
const YOUNG: &str = "begin; insert into simba_session values ('young', 99999999999999, '');
    update simba_lease set session_id = 'young', token = token + 1; commit";

/// The take-over saw the lease free. Who has it by the time of the lock has a session that the take-over's
/// snapshot does not show.
#[tokio::test]
async fn l13_a_holder_younger_than_the_take_overs_snapshot_is_respected() {
    let server = Server::<crate::fixture::Direct>::fresh().await;
    let takes = Peer::open(server.connect().await, LONG).await;
    let n = name("n");
    let token = takes.granted(&n).await;
    takes.release(&n, token).await;
    let mut operator = server.operator().await;
    operator.run(SLOW).await;

    let taking = tokio::spawn({
        let (takes, n) = (takes.clone(), n.clone());
        async move { takes.acquire(&n).await }
    });
    eventually("the take-over looks", async || is_asleep(&mut operator, "simba_take").await).await;
    operator.run(YOUNG).await;
    let answer = taking.await.unwrap();
    assert!(matches!(answer, Acquisition::Held { free_in: Some(_) }), "{answer:?}");
    let holder = takes.holder(&n).await.expect("somebody holds it");
    assert_eq!((holder.session.as_str(), holder.token.get()), ("young", token.get() + 1));
}

/// The same for the purge, which frees what belongs to sessions that are gone.
#[tokio::test]
async fn a_holder_younger_than_the_purges_snapshot_keeps_its_lease() {
    let server = Server::<crate::fixture::Direct>::fresh().await;
    let (gone, lives) =
        (Peer::open(server.connect().await, LONG).await, Peer::open(server.connect().await, LONG).await);
    let n = name("n");
    gone.granted(&n).await;
    let mut operator = server.operator().await;
    operator.run(&SLOW.replace("looks = 2", "looks = 1")).await;
    server.half_close(&gone.session).await.unwrap();

    eventually("a purge looks", async || {
        lives.owned().await.unwrap();
        is_asleep(&mut operator, "delete from simba_session").await
    })
    .await;
    operator.run(YOUNG).await;
    eventually("the purge has ended", async || !is_asleep(&mut operator, "").await).await;
    sleep(Duration::from_millis(500)).await;
    let holder = lives.holder(&n).await.expect("the purge freed what a live session holds");
    assert_eq!(holder.session.as_str(), "young");
}
