//! A server that loses all that it had, under a whole Simba.

use std::{sync::Arc, time::Duration};

use simba_actors::{Simba, SimbaConfig, SimbaEvent};
use simba_backends::Token;
use simba_tck::Fixture;
use tokio::time::timeout;

use crate::{
    Storage,
    peer::{BOUND, now},
    redis_kit::keys,
};

#[tokio::test]
#[expect(clippy::wildcard_enum_match_arm, reason = "the other events are not looked at")]
async fn tokens_that_are_flushed_while_known_are_missed_before_the_next_term() {
    let server = Storage::fresh().await;
    let key = keys::lease("job");
    let mut operator = server.operator_of(&key).await;
    operator.run(&format!("HSET {key} token 41")).await;
    let config = SimbaConfig::builder().lease(Duration::from_secs(3)).build().unwrap();
    let renew = config.renew();
    let simba = Simba::builder().backend(Arc::new(server.backend().await)).config(config);
    let simba = simba.connect().await.unwrap();
    let mut events = simba.events();
    let job = simba.election("job").unwrap().run_while_leader(|_| std::future::pending::<()>());
    let _job = job.await.unwrap();
    let mut flushed = None;
    let mut seen = Vec::new();
    loop {
        let event = timeout(BOUND, events.next()).await.expect("something happens").expect("it is open");
        match &event {
            SimbaEvent::Elected { token, .. } if flushed.is_none() => {
                assert_eq!(token.get(), 42);
                operator.run("FLUSHDB").await; // all that this one has
                flushed = Some(now());
            }
            SimbaEvent::Elected { token, .. } => {
                assert_eq!(*token, Token::new(1).unwrap());
                break;
            }
            SimbaEvent::Revoked { reason, .. } => {
                let after = flushed.expect("nothing happened before").elapsed();
                println!("revoked ({reason}) {after:?} after the flush; a renew interval is {renew:?}");
                assert_eq!(reason.as_str(), "session_expired", "the next keep-alive says so");
                seen.push("revoked");
            }
            SimbaEvent::TokenRegressed { token, floor, .. } => {
                assert_eq!((token.get(), floor.get()), (1, 42));
                seen.push("regressed");
            }
            _ => {}
        }
    }
    assert_eq!(seen, ["revoked", "regressed"]);
    simba.close().await.unwrap();
}
