//! What watches over a session: it is heard of often, and ends when nobody keeps it alive.
//!
//! ZooKeeper's client keeps its session alive whatever becomes of Simba. So the session's lease is counted here, too,
//! on the runtime that its client lives on: if that stands still, so does the client.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};
use tracing::warn;

use super::{Shared, live::Live};
use crate::clock::since_boot;

/// Watches over a session until it is gone. With its runtime it ends as well.
pub(super) fn start(shared: &Arc<Shared>, live: &Arc<Live>) {
    let ward = Ward { shared: Arc::clone(shared), live: Arc::clone(live) };
    tokio::spawn(async move { ward.watch().await });
}

struct Ward {
    shared: Arc<Shared>,
    live: Arc<Live>,
}

impl Ward {
    async fn watch(&self) {
        {
            let ended = pin!(self.live.ended.notified());
            tokio::select! {
                biased;
                () = ended => {}
                () = self.live.gone() => {}
                () = self.run_out() => warn!(session = %self.live.id, "not kept alive for a lease, ended"),
                () = self.touch() => {}
            }
        }
        self.live.end();
        // Until then others may still see what it held.
        let longest = self.live.timeout * 2;
        let _ = timeout(longest, self.live.gone()).await; // then the ensemble has ended it
    }

    /// Waits until its time has run out.
    async fn run_out(&self) {
        loop {
            let left = self.live.lock().deadline.saturating_sub(since_boot());
            if left.is_zero() {
                return;
            }
            // A timer stands still while the host is suspended, and the deadline does not.
            sleep(left.min(Duration::from_millis(250))).await;
        }
    }

    /// Asks how many sessions there are now and then, so that each keep-alive finds a call before it that was answered. ZooKeeper's
    /// client then has nothing to ping for.
    async fn touch(&self) {
        let path = self.shared.paths.sessions();
        loop {
            let Some(client) = self.live.client() else { return };
            let sent = since_boot();
            let call = client.check_stat(&path);
            drop(client);
            if let Ok(seen) = call.await {
                self.live.lock().touches.answered(sent);
                self.shared.listening.counted(seen.map_or(0, |sessions| sessions.num_children));
            }
            sleep(self.live.timeout / 10).await;
        }
    }
}

impl Drop for Ward {
    fn drop(&mut self) {
        self.live.end();
        self.shared.sessions.remove(&self.live.id);
    }
}
