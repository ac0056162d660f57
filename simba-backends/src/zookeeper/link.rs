//! By whose client is listened. That of a session is only borrowed: whoever opened it ends it by dropping the client.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;
use zookeeper_client::Client;

use super::{READING, Shared, live::Live};
use crate::BackendError;

/// How often it is looked whether there is a connection again.
const LOOK: Duration = Duration::from_millis(50);

/// A client that has a connection, or had one a moment ago.
pub(super) enum Link {
    Session(Arc<Live>),
    /// There is no session, and it ends with this.
    Own(Client),
}

impl Link {
    /// A session's client where there is a session. Waits for a connection.
    pub(super) async fn take(shared: &Shared) -> Result<Self, BackendError> {
        tokio::select! {
            biased;
            live = connected(shared) => Ok(Self::Session(live)),
            own = Self::own(shared) => own,
        }
    }

    async fn own(shared: &Shared) -> Result<Self, BackendError> {
        while !shared.sessions.is_empty() {
            sleep(LOOK).await;
        }
        shared.ensemble.client(&shared.place, READING, Duration::MAX).await.map(Self::Own)
    }

    /// The client, for a call; nothing where it is to be left for another one.
    pub(super) fn client(&self, shared: &Shared) -> Option<Client> {
        match self {
            Self::Session(live) => live.client(),
            Self::Own(client) => shared.sessions.is_empty().then(|| client.clone()),
        }
    }
}

/// Waits for a session that has a connection.
async fn connected(shared: &Shared) -> Arc<Live> {
    loop {
        if let Some(live) = shared.sessions.any_connected() {
            return live;
        }
        sleep(LOOK).await;
    }
}
