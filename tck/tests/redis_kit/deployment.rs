//! How Redis can be set up, and what breaks it there.

use std::future::Future;

use simba_servers::{Lacking, Options};
use simba_tck::{Fault, Outage};

/// A Redis, of one server or several, and the ways to it.
pub(crate) trait Deployment: Clone + Send + Sync + 'static {
    /// One that replaces nobody by itself.
    fn start(options: Options) -> impl Future<Output = Self> + Send;

    /// How the tested program finds it, past everything that breaks.
    fn url(&self) -> String;

    /// By the way that can be broken.
    fn breakable_url(&self) -> String;

    /// URLs of another scheme than this needs, and what somebody reads who wrote them.
    fn mistaken_urls(&self) -> Vec<(&'static str, String, &'static str)>;

    /// The administrators' URLs of the servers that take writes.
    fn primaries(&self) -> impl Future<Output = Vec<String>> + Send;

    /// That of the one that has a key.
    fn primary_of(&self, key: &str) -> impl Future<Output = String> + Send;

    /// The administrators' URLs of all servers that have users.
    fn all(&self) -> Vec<String>;

    /// Ends all of it as a crash would and starts it again.
    fn restart(&self) -> impl Future<Output = Lacking> + Send;

    /// Any but [`Outage::Locked`], which is the same everywhere.
    fn outage(&self, outage: Outage) -> impl Future<Output = Lacking<Fault>> + Send;

    /// Whether it shares nothing with others.
    fn own(&self) -> Lacking;
}
