//! Names whose row has been seen, so that it need not be looked for: none is ever deleted.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::LeaseName;

/// More than that are not remembered.
const MOST: usize = 65_536;

/// A memory that may be wrong, if somebody deletes rows by hand: that costs an attempt.
#[derive(Default)]
pub(super) struct Known(Mutex<BTreeSet<LeaseName>>);

impl Known {
    pub(super) fn has_all(&self, names: &[LeaseName]) -> bool {
        let known = self.lock();
        names.iter().all(|name| known.contains(name))
    }

    pub(super) fn note(&self, name: &LeaseName, has_row: bool) {
        let mut known = self.lock();
        if !has_row {
            known.remove(name);
        } else if known.len() < MOST {
            known.insert(name.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<LeaseName>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
