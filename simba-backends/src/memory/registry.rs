//! The named stores of this process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::Shared;

static NAMED: Mutex<BTreeMap<String, Weak<Shared>>> = Mutex::new(BTreeMap::new());

/// The store of that name, made if nobody has it. A store lives as long as somebody has it.
pub(super) fn shared(name: &str) -> Arc<Shared> {
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    named.retain(|_, store| store.strong_count() > 0);
    if let Some(store) = named.get(name).and_then(Weak::upgrade) {
        return store;
    }
    let store = Arc::new(Shared::new());
    named.insert(name.to_owned(), Arc::downgrade(&store));
    store
}
