//! What this process remembers of names.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{LeaseName, SessionId, Token};

/// More names than that are not remembered.
const MOST: usize = 65_536;

/// Names whose row has been seen, so that it need not be looked for: none is ever deleted. It may be wrong where
/// somebody deletes rows by hand.
#[derive(Default)]
pub(super) struct Known(Mutex<BTreeMap<LeaseName, Option<Grant>>>);

/// The last that was told of a name.
#[derive(Clone, PartialEq, Eq)]
struct Grant {
    session: SessionId,
    token: Token,
}

impl Known {
    pub(super) fn has_all(&self, names: &[LeaseName]) -> bool {
        let known = self.lock();
        names.iter().all(|name| known.contains_key(name))
    }

    pub(super) fn note(&self, name: &LeaseName, has_row: bool) {
        let mut known = self.lock();
        if !has_row {
            known.remove(name);
        } else if known.len() < MOST {
            known.entry(name.clone()).or_default();
        }
    }

    /// Notes that a grant is told; whether that is the first time. Of two calls of a session that overlap, both
    /// see that it has got the lease.
    pub(super) fn is_first(&self, name: &LeaseName, session: &SessionId, token: Token) -> bool {
        let grant = Some(Grant { session: session.clone(), token });
        self.lock().get_mut(name).is_none_or(|last| std::mem::replace(last, grant.clone()) != grant)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<LeaseName, Option<Grant>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
