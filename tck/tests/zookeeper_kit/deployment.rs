//! How ZooKeeper can be set up, and what breaks it there.

use std::future::Future;

use simba_servers::{Lacking, Options, ZooKeeper};
use simba_tck::{Fault, Outage};

/// A ZooKeeper, of one server or several, and the ways to it.
pub(crate) trait Deployment: Clone + Send + Sync + 'static {
    fn start(options: Options) -> impl Future<Output = Self> + Send;

    /// How the tested program finds it, past everything that breaks. It names no user.
    fn url(&self) -> String;

    /// By the way that can be broken.
    fn breakable_url(&self) -> String;

    /// All servers.
    fn nodes(&self) -> Vec<ZooKeeper>;

    /// Ends all of it as a crash would and starts it again.
    fn restart(&self) -> impl Future<Output = Lacking> + Send;

    fn outage(&self, outage: Outage) -> impl Future<Output = Lacking<Fault>> + Send;

    /// Cuts all connections that came by the way that can be broken.
    fn cut(&self) -> impl Future<Output = ()> + Send;
}
