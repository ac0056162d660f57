//! A client for what is asked for without a session: who holds a lease, who is in a group.

use std::{sync::Arc, time::Duration};

use tokio::sync::{Mutex, oneshot};
use zookeeper_client::Client;

use super::Shared;
use crate::BackendError;

/// How long its session may go on without a connection.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Reader {
    own: Mutex<Option<Own>>,
}

struct Own {
    client: Arc<Client>,
    /// Closed when the client is of no use any more: its session is over, or its runtime is.
    alive: oneshot::Receiver<()>,
}

impl Reader {
    /// A client to read with: that of a session where there is one.
    pub(super) async fn client(&self, shared: &Shared) -> Result<Client, BackendError> {
        if let Some(client) = shared.sessions.any_client() {
            return Ok(client);
        }
        Ok(Client::clone(&*self.own(shared).await?))
    }

    /// Its own client, whether there are sessions or not.
    pub(super) async fn own(&self, shared: &Shared) -> Result<Arc<Client>, BackendError> {
        let mut own = self.own.lock().await;
        if let Some(own) = own.as_mut()
            && own.alive.try_recv() == Err(oneshot::error::TryRecvError::Empty)
        {
            return Ok(Arc::clone(&own.client));
        }
        let client = Arc::new(shared.ensemble.client(&shared.place, TIMEOUT).await?);
        *own = Some(Own { alive: watch(&client), client: Arc::clone(&client) });
        Ok(client)
    }

    /// Closes its own client: a session reads from now on.
    pub(super) async fn let_go(&self) {
        self.own.lock().await.take();
    }
}

fn watch(client: &Client) -> oneshot::Receiver<()> {
    let (alive, watched) = oneshot::channel();
    let mut watcher = client.state_watcher();
    tokio::spawn(async move {
        let _alive = alive; // dropped when this ends, however it ends
        while !watcher.state().is_terminated() {
            watcher.changed().await;
        }
    });
    watched
}

/// Shared by those that only read.
pub(super) async fn client(shared: &Arc<Shared>) -> Result<Client, BackendError> {
    shared.reader.client(shared).await
}
