//! Simba's thread: a System of its own, on which the keeper, the actors and the storage's connections
//! live.
//!
//! Not an Arbiter of the user's System, which `System::stop` would take away together with every lease.

use std::{cell::RefCell, rc::Rc, sync::Arc, thread};

use actix::{Addr, System};
use simba_backends::{LeaseBackend, connect};
use tokio::sync::{mpsc, oneshot};
use tracing::error;

use super::{ConnectError, Handles, builder::Storage};
use crate::{
    SimbaConfig,
    backend::{BackendActor, Board, Told},
    clock::Clock,
    event::EventBus,
    keeper::{Keeper, Keeping},
    session::{Children, CloseSession, SessionActor},
    supervise::supervise_with,
};

/// What a Simba is made of.
pub(super) struct Plan {
    pub(super) storage: Storage,
    pub(super) config: SimbaConfig,
    pub(super) events: EventBus,
    pub(super) clock: Clock,
    pub(super) seed: u64,
}

type Ready = oneshot::Receiver<Result<Handles, ConnectError>>;

/// Runs a Simba on a thread of its own.
#[expect(clippy::disallowed_methods, reason = "the one thread that Simba has")]
pub(super) fn spawn(plan: Plan) -> Result<Ready, ConnectError> {
    let (ready, connected) = oneshot::channel();
    let run = move || System::new().block_on(run(plan, ready));
    let spawned = thread::Builder::new().name("simba".to_owned()).spawn(run);
    // Not joined: it ends when everything is closed.
    spawned.map_err(|error| ConnectError::Thread(Arc::new(error)))?;
    Ok(connected)
}

/// Runs a Simba on the current System.
pub(super) fn spawn_here(plan: Plan) -> Ready {
    let (ready, connected) = oneshot::channel();
    actix::spawn(run(plan, ready));
    connected
}

/// From the storage to the end.
async fn run(plan: Plan, mut ready: oneshot::Sender<Result<Handles, ConnectError>>) {
    let opened = tokio::select! {
        opened = open(plan.storage) => opened,
        // Who connects has given up.
        () = ready.closed() => return,
    };
    let backend = match opened {
        Ok(backend) => backend,
        Err(error) => {
            // As above.
            let _ = ready.send(Err(error));
            return;
        }
    };
    plan.events.warn_of(backend.as_ref());
    let (started, first_session) = oneshot::channel();
    let (over, is_over) = oneshot::channel();
    let board = Rc::new(RefCell::new(Board::new(started)));
    let children = Rc::new(RefCell::new(Children::new(over)));
    let (sender, inputs) = mpsc::unbounded_channel();

    let actor = BackendActor {
        backend: backend.clone(),
        call_timeout: plan.config.timing().call_timeout,
        inputs: sender,
        events: plan.events.clone(),
        board,
    };
    let restarts = plan.events.restarts("BackendActor".to_owned());
    let backend_actor = supervise_with(move || actor.clone(), restarts);
    let restarts = plan.events.restarts("SessionActor".to_owned());
    let actor = SessionActor {
        backend: backend_actor.clone(),
        events: plan.events,
        lease: plan.config.lease(),
        renew: plan.config.renew(),
        children,
    };
    let session = supervise_with(move || actor.clone(), restarts);

    let outlet = backend_actor.clone().recipient();
    let Plan { config, clock, seed, .. } = plan;
    let keeper = Keeper::new(Keeping { config, backend, clock, seed, inputs, outlet });
    let keeper = actix::spawn(keeper.run());
    actix::spawn(introduce(first_session, ready, session, backend_actor.clone()));

    if let Err(panic) = keeper.await {
        error!(%panic, "the keeper died: every term has ended");
        backend_actor.do_send(Told::Died);
    }
    // An error would say that the session actor is gone, which ends it all too.
    let _ = is_over.await;
}

async fn open(storage: Storage) -> Result<Arc<dyn LeaseBackend>, ConnectError> {
    match storage {
        Storage::Url(url) => Ok(connect(&url).await?),
        Storage::Backend(backend) => Ok(backend),
    }
}

/// Tells who connects how the first session went. If that failed, or nobody is there, all is closed.
async fn introduce(
    first_session: oneshot::Receiver<Result<simba_backends::SessionId, simba_backends::BackendError>>,
    ready: oneshot::Sender<Result<Handles, ConnectError>>,
    session: Addr<SessionActor>,
    backend: Addr<BackendActor>,
) {
    let error = match first_session.await {
        Ok(Ok(first_session)) => {
            // If nobody takes them, they close.
            let _ = ready.send(Ok(Handles { session, backend, first_session }));
            return;
        }
        Ok(Err(error)) => error.into(),
        Err(_gone) => ConnectError::Interrupted,
    };
    session.do_send(CloseSession { reply: None });
    // Who connects may have given up.
    let _ = ready.send(Err(error));
}
