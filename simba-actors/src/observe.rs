//! Who holds a lease, for people and programs that do not contend.

use actix::Addr;
use simba_backends::{BackendError, Holder, LeaseName};
use tokio::sync::oneshot;

use crate::{
    backend::{BackendActor, Inspect},
    gate::Gate,
};

/// Says why nobody could tell who holds a lease.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObserveError {
    /// The storage could not be asked; its error says whether to try again.
    #[error("the holder of {name} is not known: {source}")]
    #[non_exhaustive]
    Backend {
        /// The name of the lease.
        name: LeaseName,
        /// What the storage said.
        source: BackendError,
    },
    /// Simba was closed; connect anew.
    #[error("simba is closed: connect anew")]
    Closed,
}

/// Asks about one name.
#[derive(Clone)]
pub(crate) struct Observer {
    name: LeaseName,
    backend: Addr<BackendActor>,
    gate: Gate,
    gallery: Gate,
}

impl Observer {
    pub(crate) fn new(name: LeaseName, backend: Addr<BackendActor>, gate: Gate, gallery: Gate) -> Self {
        Self { name, backend, gate, gallery }
    }

    pub(crate) fn name(&self) -> &LeaseName {
        &self.name
    }

    /// The gate for all else that is asked about the name.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) async fn holder(&self) -> Result<Option<Holder>, ObserveError> {
        let permit = self.gallery.enter().await;
        let (reply, answer) = oneshot::channel();
        self.backend.do_send(Inspect { name: self.name.clone(), reply, permit });
        match answer.await {
            Ok(Ok(holder)) => Ok(holder),
            Ok(Err(source)) => Err(ObserveError::Backend { name: self.name.clone(), source }),
            Err(_) => Err(ObserveError::Closed),
        }
    }
}
