//! How a server of several is found by the others and by clients.

use std::{net::SocketAddr, sync::Arc};

use crate::Proxy;

#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Direct,
    Proxied,
}

impl Way {
    /// Its proxy, if it has one.
    pub(super) async fn proxy_before(self, address: SocketAddr) -> Option<Arc<Proxy>> {
        match self {
            Self::Direct => None,
            Self::Proxied => Some(Arc::new(Proxy::before(address).await)),
        }
    }
}
