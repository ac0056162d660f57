//! What a Simba on a thread of its own has sent when it closes is heard, however late.

use std::{sync::Arc, time::Duration};

use actix::prelude::*;
use simba_actors::{Elected, Revoked, Simba, SimbaConfig, backends::memory::MemoryBackend};
use tokio::{
    sync::{Notify, mpsc},
    time::{sleep, timeout},
};

const PATIENCE: Duration = Duration::from_secs(3);

/// Hears nothing while it handles `Elected`, until it is let go on.
struct Stuck {
    heard: mpsc::UnboundedSender<&'static str>,
    go_on: Arc<Notify>,
}

impl Actor for Stuck {
    type Context = Context<Self>;
}

impl Handler<Elected> for Stuck {
    type Result = AtomicResponse<Self, ()>;
    fn handle(&mut self, _: Elected, _: &mut Context<Self>) -> Self::Result {
        self.heard.send("elected").expect("the test listens");
        let go_on = self.go_on.clone();
        AtomicResponse::new(Box::pin(async move { go_on.notified().await }.into_actor(self)))
    }
}

impl Handler<Revoked> for Stuck {
    type Result = ();
    fn handle(&mut self, _: Revoked, _: &mut Context<Self>) {
        self.heard.send("revoked").expect("the test listens");
    }
}

#[actix::test]
async fn a_leader_that_is_stuck_at_the_close_hears_revoked_when_it_comes_to_it() {
    let (heard, mut hears) = mpsc::unbounded_channel();
    let go_on = Arc::new(Notify::new());
    let leader = Stuck { heard, go_on: go_on.clone() }.start();
    let backend = Arc::new(MemoryBackend::new());
    let config = SimbaConfig::builder().lease(Duration::from_millis(500)).build().unwrap();
    let simba = Simba::builder().backend(backend.clone()).config(config).connect().await.unwrap();
    let election = simba.election("stuck").unwrap().start(&leader).await.unwrap();
    assert_eq!(timeout(PATIENCE, hears.recv()).await.unwrap(), Some("elected"));
    simba.close().await.unwrap();
    drop((simba, election));
    // Nothing has the storage any more when Simba's thread has ended.
    let backend = Arc::downgrade(&{ backend });
    timeout(PATIENCE, async {
        while backend.strong_count() > 0 {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    go_on.notify_one();
    assert_eq!(timeout(PATIENCE, hears.recv()).await.unwrap(), Some("revoked"));
}
