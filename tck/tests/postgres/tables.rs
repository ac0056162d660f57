//! Tables that were made in other ways.

use simba_backends::{Acquisition, ErrorKind, postgres::PostgresBackend};
use simba_servers::{PgBouncer, Postgres};
use simba_tck::{
    contract::{group, lease, race, session},
    run,
};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::task::JoinSet;

use crate::{
    fixture::{Direct, PURGE_INTERVAL, Server, Way},
    peer::{LONG, Peer, name},
};

const TABLES: &str = include_str!("../../../sql/init-simba-postgresql.sql");

/// Ids without a fixed width, and text without a bound: columns that compare otherwise.
struct Loose;

impl Way for Loose {
    async fn before(postgres: &Postgres) -> Option<PgBouncer> {
        let tables = TABLES.replace("varchar(1024)", "text").replace("varchar(128)", "text");
        let tables = tables.replace("char(32)", "varchar(32)");
        let mut app = PgConnection::connect(postgres.url()).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(tables)).execute(&mut app).await.unwrap();
        None
    }
}

macro_rules! loose {
    ($($part:ident::$sentence:ident,)*) => {
        $(
            #[test]
            fn $sentence() {
                run::<Server<Loose>>(|fixture| Box::pin($part::$sentence(fixture)));
            }
        )*
    };
}

loose! {
    session::s2_a_keep_alive_restores_the_lease_and_lists_what_is_held,
    session::s4_closing_frees_everything_at_once_and_finishes_an_earlier_close,
    session::s5_metadata_comes_back_in_members_and_inspect,
    lease::l5_the_holders_repeat_is_already_owned_with_the_same_token,
    lease::l6_a_release_frees_and_nothing_else_does,
    lease::l7_leases_of_an_expired_session_can_be_taken,
    lease::l8_names_are_distinct_to_the_last_character,
    lease::l9_a_batch_answers_for_each_name,
    race::l3_of_racing_sessions_one_is_granted,
    group::g1_who_has_joined_is_in_the_very_next_view,
}

/// Ids that are shorter than their column come back padded.
#[tokio::test]
async fn ids_of_other_programs_may_be_shorter_than_the_column() {
    let server = Server::<Direct>::fresh_server().await;
    let mine = Peer::open(std::sync::Arc::new(server.backend().await), LONG).await;
    let mut operator = server.operator().await;
    operator
        .run(
            "insert into simba_session values ('jvm1', 99999999999999, 'a JVM');
            insert into simba_lease values ('job', 'jvm1', 7);
            insert into simba_member values ('crew', 'jvm1')",
        )
        .await;
    let job = name("job");
    assert!(mine.is_held(&job).await);
    let holder = mine.holder(&job).await.expect("it is held");
    assert_eq!((holder.session.as_str(), holder.metadata.as_str()), ("jvm1", "a JVM"));
    let members = mine.backend.members(&"crew".parse().unwrap()).await.unwrap();
    assert_eq!(members[0].session.as_str(), "jvm1");
    let theirs = Peer { session: "jvm1".parse().unwrap(), ..mine.clone() };
    assert_eq!(theirs.owned().await.unwrap(), [(job.clone(), holder.token)]);
    theirs.release(&job, holder.token).await;
    assert!(mine.granted(&job).await > holder.token);
}

/// Nobody knows what it was to mean: it stays as evidence, and says so.
#[tokio::test]
async fn a_holder_that_no_one_can_be_is_neither_robbed_nor_purged() {
    let server = Server::<Direct>::fresh_server().await;
    let mine = Peer::open(std::sync::Arc::new(server.backend().await), LONG).await;
    let mut operator = server.operator().await;
    operator
        .run("insert into simba_lease values ('odd', 'not an id', 7), ('last', '', 9223372036854775807)")
        .await;
    for _ in 0..8 {
        for (name, answer) in mine.acquire_all(&[name("odd"), name("last")]).await {
            let Acquisition::Failed(error) = answer else { panic!("{name}: {answer:?}") };
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            assert!(error.to_string().contains(name.as_str()), "{error}");
        }
        mine.owned().await.unwrap();
        tokio::time::sleep(PURGE_INTERVAL / 4).await;
    }
    let untouched = "select count(*) from simba_lease where (name, session_id, token) in
        (('odd', 'not an id', 7), ('last', '', 9223372036854775807))";
    assert_eq!(operator.number(untouched).await, 2);
}

#[tokio::test]
async fn processes_that_create_the_tables_at_once_all_find_them() {
    let server = Server::<Direct>::empty().await;
    let mut starting = JoinSet::new();
    for _ in 0..8 {
        let builder = PostgresBackend::builder(&server.url()).unwrap().create_tables();
        starting.spawn(async move { builder.connect().await.unwrap_or_else(|error| panic!("{error:?}")) });
    }
    for backend in starting.join_all().await {
        Peer::open(std::sync::Arc::new(backend), LONG).await;
    }
    let mut operator = server.operator().await;
    operator.run(&format!("set role app; {TABLES}")).await;
}
