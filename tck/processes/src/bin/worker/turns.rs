//! A lock that is taken and released without a pause.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use simba_actors::Lock;
use tokio::task::JoinHandle;

use super::{Failure, PATIENCE, answer};

pub(crate) struct Turns {
    goes_on: Rc<Cell<bool>>,
    tokens: Rc<RefCell<Vec<u64>>>,
    job: JoinHandle<Result<(), String>>,
}

impl Turns {
    pub(crate) fn begin(lock: Lock) -> Self {
        let (goes_on, tokens) = (Rc::new(Cell::new(true)), Rc::<RefCell<Vec<u64>>>::default());
        let job = actix::spawn(take(lock, Rc::clone(&goes_on), Rc::clone(&tokens)));
        Self { goes_on, tokens, job }
    }

    pub(crate) async fn end(self) -> Result<(), Failure> {
        self.goes_on.set(false);
        self.job.await??;
        let tokens: Vec<String> = self.tokens.borrow().iter().map(u64::to_string).collect();
        answer(&format!("turned {}", tokens.join(" ")));
        Ok(())
    }
}

async fn take(lock: Lock, goes_on: Rc<Cell<bool>>, tokens: Rc<RefCell<Vec<u64>>>) -> Result<(), String> {
    while goes_on.get() {
        let term = lock.acquire(PATIENCE).await.map_err(|error| error.to_string())?;
        tokens.borrow_mut().push(term.token().get());
        term.release().await.map_err(|error| error.to_string())?;
    }
    Ok(())
}
