//! Whose client is listened by. It is only borrowed: whoever owns it ends its session by dropping it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::time::sleep;
use zookeeper_client::{Client, SessionState};

use super::{Shared, live::Live};
use crate::BackendError;

/// How often it is looked whether there is a connection again.
const LOOK: Duration = Duration::from_millis(50);

/// A client that has a connection, or had one a moment ago.
pub(super) enum Link {
    Session(Arc<Live>),
    Reader(Weak<Client>),
}

impl Link {
    /// A session's client where there is a session, the reader's elsewhere. Waits for a connection.
    pub(super) async fn take(shared: &Arc<Shared>) -> Result<Self, BackendError> {
        tokio::select! {
            biased;
            live = connected(shared) => Ok(Self::Session(live)),
            reader = Self::reader(shared) => reader,
        }
    }

    /// Only while there is no session: whoever opens one does not wait for this.
    async fn reader(shared: &Arc<Shared>) -> Result<Self, BackendError> {
        while !shared.sessions.is_empty() {
            sleep(LOOK).await;
        }
        let link = Self::Reader(Arc::downgrade(&shared.reader.own(shared).await?));
        while link.client().is_some_and(|client| client.state() == SessionState::Disconnected) {
            sleep(LOOK).await;
        }
        Ok(link)
    }

    /// The client, for a call; nothing once its owner has dropped it.
    pub(super) fn client(&self) -> Option<Client> {
        match self {
            Self::Session(live) => live.client(),
            Self::Reader(client) => client.upgrade().map(|client| Client::clone(&client)),
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
