//! A storage that panics, as an error.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use simba_backends::{BackendError, ErrorKind, Outcome};

/// Calls the storage; the panic of its driver is an answer like others.
pub(crate) async fn guarded<T>(
    call: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(|_panic| {
        let message = "the storage's driver panicked; its message is on stderr";
        Err(BackendError::new(ErrorKind::Unexpected, Outcome::Unknown, message))
    })
}
