//! Keep-alives that are on their way while a lease is released bring nothing back.

use std::{sync::Arc, time::Duration};

use simba_actors::{
    Simba, SimbaConfig,
    backends::{KeepAlive, LeaseBackend},
};
use tokio::time::sleep;

use crate::fixture::{Behaviour, MS, Op, World, seconds, virtually};

const LEASE: Duration = Duration::from_millis(200);
const RENEW: Duration = Duration::from_millis(4);
const ROUNDS: u32 = 10_000;

/// Neither held nor listed for three renews, whatever was on its way.
async fn assert_stays_free(world: &World, simba: &Simba) {
    for _ in 0..12 {
        assert!(world.is_free("x").await);
        let storage = world.backend.inner();
        match storage.keep_alive(simba.first_session(), LEASE).await.unwrap() {
            KeepAlive::Live { owned, .. } => assert_eq!(owned, []),
            KeepAlive::Expired => panic!("the session is kept alive"),
        }
        sleep(MS).await;
    }
}

#[test]
fn r7_no_renewal_outlives_ten_thousand_releases() {
    virtually(async {
        let world = World::new();
        let config = SimbaConfig::builder().lease(LEASE).renew(RENEW).call_timeout(RENEW).build().unwrap();
        let builder = Simba::builder().backend(Arc::new(world.backend.clone())).config(config);
        let simba = builder.on_this_thread().connect().await.unwrap();
        let lock = simba.lock("x").unwrap();
        world.backend.always(Op::KeepAlive, Behaviour::Late(2 * MS));
        for round in 0..ROUNDS {
            let late = if round % 2 == 0 { Behaviour::Late(2 * MS) } else { Behaviour::Slow(2 * MS) };
            world.backend.always(Op::KeepAlive, late);
            let term = lock.acquire(seconds(10)).await.unwrap();
            assert_eq!(term.session(), simba.first_session());
            sleep(round % 7 * MS).await;
            term.release().await.unwrap();
            assert!(world.is_free("x").await, "round {round}");
            sleep(round % 3 * MS).await;
            assert!(world.is_free("x").await, "round {round}");
            if round % 1_000 == 0 {
                assert_stays_free(&world, &simba).await;
            }
        }
        assert_stays_free(&world, &simba).await;
        let renewals = world.backend.count(Op::KeepAlive);
        assert!(renewals > 5_000, "{renewals} keep-alives are too few to outlive anything");
        simba.close().await.unwrap();
    });
}
