//! Many candidates in one process, each with a session of its own.

use std::{cell::RefCell, rc::Rc};

use simba_actors::{Lock, LockTerm, Simba, SimbaConfig};
use tokio::sync::oneshot;

use super::{Failure, PATIENCE, answer};

const CROWD: usize = 10;

/// Who of the crowd holds the lock waits for this.
type Holder = Rc<RefCell<Option<oneshot::Sender<()>>>>;

pub(crate) struct Crowd {
    holder: Holder,
    _simbas: Vec<Simba>,
}

impl Crowd {
    pub(crate) async fn gather(url: &str, config: &SimbaConfig) -> Result<Self, Failure> {
        let holder = Holder::default();
        let mut simbas = Vec::new();
        for _ in 0..CROWD {
            let simba = Simba::builder().url(url).config(config.clone()).connect().await?;
            let waits = wait_and_hold(simba.lock("herd")?, Rc::clone(&holder));
            actix::spawn(async move {
                if let Err(error) = waits.await {
                    answer(&format!("failed {error}"));
                }
            });
            simbas.push(simba);
        }
        answer("gathered");
        Ok(Self { holder, _simbas: simbas })
    }

    pub(crate) fn yield_it(&self) -> Result<(), Failure> {
        let holder = self.holder.borrow_mut().take().ok_or("nobody of the crowd holds it")?;
        holder.send(()).map_err(|()| "the holder is gone".into())
    }
}

async fn wait_and_hold(lock: Lock, holder: Holder) -> Result<(), Failure> {
    loop {
        let term: LockTerm = lock.acquire(PATIENCE).await?;
        let (yields, told) = oneshot::channel();
        *holder.borrow_mut() = Some(yields);
        answer(&format!("won {}", term.token()));
        told.await?;
        term.release().await?;
        answer("yielded");
    }
}
