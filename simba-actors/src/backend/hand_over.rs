//! The last act of a term that was ended deliberately.

use actix::Addr;

use super::{BackendActor, HandOver};
use crate::term::Term;

/// Hands a term over that has ended: now, or when the steps that are under way for it are over. The engine
/// waits for that until the term would have ended by itself.
pub(crate) fn hand_over(term: Term, backend: &Addr<BackendActor>) {
    let handed_over = HandOver { name: term.name().clone(), token: term.token() };
    if !term.is_in_step() {
        return backend.do_send(handed_over);
    }
    let backend = backend.clone();
    // Not the actor's own future: it outlives a panic of the actor. It ends with the last step.
    actix::spawn(async move {
        term.steps_over().await;
        backend.do_send(handed_over);
    });
}
