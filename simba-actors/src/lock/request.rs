//! One wish for a lock, from the asking to the answer.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use actix::Addr;
use simba_backends::LeaseName;
use tokio::{sync::oneshot, time::sleep};

use super::{
    LockError, LockRequest, LockTerm,
    messages::{GiveUp, Patience, WaiterId},
};
use crate::{gate::Gate, session::SessionActor};

static LAST: AtomicU64 = AtomicU64::new(0);

type Answer = Result<Option<LockTerm>, LockError>;

/// A wish that was sent. Dropped before its answer it is withdrawn; a lock that was won meanwhile is
/// released with the answer that nobody takes.
pub(super) struct Wish {
    session: Addr<SessionActor>,
    name: LeaseName,
    id: WaiterId,
    stage: Stage,
}

#[derive(PartialEq, Eq)]
enum Stage {
    Open,
    Answered,
}

impl Wish {
    /// Asks, and waits for the answer; after `limit` for the answer that the time is up.
    pub(super) async fn ask(
        session: Addr<SessionActor>,
        gate: &Gate,
        name: LeaseName,
        patience: Patience,
        limit: Duration,
    ) -> Answer {
        let time_is_up = sleep(limit);
        tokio::pin!(time_is_up);
        let permit = tokio::select! {
            biased;
            permit = gate.enter() => permit,
            () = &mut time_is_up => return Err(LockError::Timeout { name, waited: limit, last: None }),
        };
        let id = WaiterId(LAST.fetch_add(1, Ordering::Relaxed));
        let (reply, mut answer) = oneshot::channel();
        session.do_send(LockRequest { name: name.clone(), id, patience, reply, permit });
        let mut wish = Self { session, name, id, stage: Stage::Open };
        let answered = tokio::select! {
            biased;
            answered = &mut answer => answered,
            () = time_is_up => {
                wish.give_up(Some(limit));
                answer.await
            }
        };
        wish.stage = Stage::Answered;
        answered.unwrap_or(Err(LockError::Closed))
    }

    fn give_up(&self, waited: Option<Duration>) {
        self.session.do_send(GiveUp { name: self.name.clone(), id: self.id, waited });
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        if self.stage == Stage::Open {
            self.give_up(None);
        }
    }
}
