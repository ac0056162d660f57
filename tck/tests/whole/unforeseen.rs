//! Panics: those that users stage are silent, any other is a violation.

use std::{cell::RefCell, panic, sync::Once};

/// The message of a panic that is part of the play.
pub(crate) const SIMULATED: &str = "simulated";

thread_local! {
    static UNFORESEEN: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A panic of this thread that nobody staged.
pub(crate) fn panic_of_this_thread() -> Option<String> {
    UNFORESEEN.take()
}

/// Looks at every panic from now on.
pub(crate) fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let text = info.payload_as_str().unwrap_or("not a text");
            if text != SIMULATED {
                UNFORESEEN.set(Some(info.to_string()));
                default(info);
            }
        }));
    });
}
