//! The process's provider of cryptography.

/// Makes ring that provider, unless there is one: a build with the cargo feature `zookeeper-tls` has two, and rustls,
/// which the drivers build on, then panics unless one is chosen. Whoever chose one keeps it: the error says only that
/// there is one.
pub(crate) fn choose_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
