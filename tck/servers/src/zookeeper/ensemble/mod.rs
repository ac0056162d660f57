//! Several servers that are one.

mod links;
mod setup;

use std::sync::Arc;

use futures_util::future::join_all;

pub use self::links::Cut;
use self::{links::Links, setup::Way};
use super::{ZooKeeper, ZooKeeperMode, launch};
use crate::{Lacking, Options, wait::until};

/// Three servers, of which one leads: always servers of ours, also where there are servers of your own.
///
/// Two of them go on without the third. One that is killed is missed at once, one that is stopped or cut off in
/// silence after two seconds (`syncLimit` ticks); so long it may call itself the leader. What is done to a server
/// is done by the verbs of [`ZooKeeper`]; but [`start_again`](ZooKeeper::start_again) waits until it serves
/// clients, for which it needs another one: after all were killed, see
/// [`ZooKeeperEnsemble::start_again`].
///
/// Ways through proxies take part in the work of the runtime that they were made on: a test that blocks its only
/// thread cuts all of them.
#[derive(Clone, Debug)]
pub struct ZooKeeperEnsemble {
    nodes: Arc<[ZooKeeper]>,
    links: Option<Arc<Links>>,
    url: String,
    admin_url: String,
}

impl ZooKeeperEnsemble {
    /// One as usual.
    ///
    /// # Panics
    /// If ZooKeeper is not there, or they do not agree on a leader within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn start() -> Self {
        Self::with(Options::new()).await
    }

    /// One whose servers have settings of their own, say another `syncLimit`.
    ///
    /// # Panics
    /// If ZooKeeper is not there, or they do not agree on a leader within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn with(options: Options) -> Self {
        Self::of(&options, Way::Direct).await
    }

    /// One with a [proxy](ZooKeeper::proxy) before each server, for clients. The URLs lead to the proxies.
    ///
    /// # Panics
    /// If ZooKeeper is not there, or they do not agree on a leader within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn behind_proxies() -> Self {
        Self::behind_proxies_with(Options::new()).await
    }

    /// Both [`behind_proxies`](Self::behind_proxies) and [`with`](Self::with) settings.
    ///
    /// # Panics
    /// If ZooKeeper is not there, or they do not agree on a leader within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn behind_proxies_with(options: Options) -> Self {
        Self::of(&options, Way::Clients).await
    }

    /// Like [`behind_proxies`](Self::behind_proxies), and what the servers say to one another goes through
    /// proxies too: one can be [cut off](Self::cut_from_quorum) from the others.
    ///
    /// # Panics
    /// If ZooKeeper is not there, or they do not agree on a leader within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn linked_by_proxies() -> Self {
        Self::linked_by_proxies_with(Options::new()).await
    }

    /// Both [`linked_by_proxies`](Self::linked_by_proxies) and [`with`](Self::with) settings.
    ///
    /// # Panics
    /// If ZooKeeper is not there, or they do not agree on a leader within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, nothing of it is left.
    pub async fn linked_by_proxies_with(options: Options) -> Self {
        Self::of(&options, Way::All).await
    }

    /// How the tested program finds it: three addresses, of the proxies where there are some.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How its administrator finds it.
    pub fn admin_url(&self) -> &str {
        &self.admin_url
    }

    /// All servers. The URLs of each lead to it alone, and around its proxy.
    pub fn nodes(&self) -> &[ZooKeeper] {
        &self.nodes
    }

    /// Asks all who leads now, until just one says that it does.
    ///
    /// # Panics
    /// If that does not come about within a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn leader(&self) -> ZooKeeper {
        until("one server leads", || async { self.only_leader(&self.modes().await) }).await
    }

    /// Those that follow a leader now.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn followers(&self) -> Vec<ZooKeeper> {
        let modes = self.modes().await;
        let following = |(_, mode): &(_, &Option<_>)| **mode == Some(ZooKeeperMode::Follower);
        self.nodes.iter().zip(&modes).filter(following).map(|(node, _)| node.clone()).collect()
    }

    /// Waits until another one than that leads and is followed. That one may not have noticed.
    ///
    /// # Panics
    /// If that does not come about within a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn wait_for_failover_of(&self, leader: &ZooKeeper) -> ZooKeeper {
        until("another server leads", || async {
            let modes = self.modes().await;
            let others = self.nodes.iter().zip(&modes).filter(|(node, _)| node.address() != leader.address());
            let is = |mode| others.clone().find(|(_, found)| **found == Some(mode)).map(|(node, _)| node);
            is(ZooKeeperMode::Follower)?;
            is(ZooKeeperMode::Leader).cloned()
        })
        .await
    }

    /// Waits until all servers serve clients and one is followed by both others.
    ///
    /// # Panics
    /// If that does not come about within a minute.
    ///
    /// # Cancel safety
    /// It changes nothing.
    pub async fn wait_until_whole(&self) {
        until("the ensemble is whole", || async {
            let modes = self.modes().await;
            let leader = self.only_leader(&modes)?;
            let following = modes.iter().filter(|mode| **mode == Some(ZooKeeperMode::Follower)).count();
            let others = self.nodes.len() - 1;
            let synced = leader.four_letter_word("mntr").await.ok()?;
            (following == others && synced.contains(&format!("zk_synced_followers\t{others}\n")))
                .then_some(())
        })
        .await;
    }

    /// Starts all at once that are down, and waits until all serve clients.
    ///
    /// # Panics
    /// If one does not within a minute.
    ///
    /// # Cancel safety
    /// Cancelled, they may or may not run; the call can be repeated.
    pub async fn start_again(&self) {
        join_all(self.nodes.iter().map(ZooKeeper::start_again)).await;
    }

    /// Cuts one off from the others, in both directions. Clients still reach it; some time later it serves none,
    /// and if it was the leader, the others have another one.
    ///
    /// # Errors
    /// Why it cannot be.
    ///
    /// # Panics
    /// If that is no server of this ensemble.
    ///
    /// # Cancel safety
    /// Cancelled, not all may be cut yet; the call can be repeated.
    pub async fn cut_from_quorum(&self, node: &ZooKeeper, cut: Cut) -> Lacking {
        self.links()?.cut(self.index_of(node), cut).await;
        Ok(())
    }

    /// Mends all ways from and to one, whoever else was cut off too: what was held back goes on. It joins the
    /// others again by itself.
    ///
    /// # Errors
    /// Why it was not cut.
    ///
    /// # Panics
    /// If that is no server of this ensemble.
    ///
    /// # Cancel safety
    /// It waits for nothing.
    pub async fn heal(&self, node: &ZooKeeper) -> Lacking {
        self.links()?.heal(self.index_of(node)).await;
        Ok(())
    }

    async fn of(options: &Options, way: Way) -> Self {
        let (nodes, links) = setup::start(options, way).await;
        let led_to = |node: &ZooKeeper| node.proxy().map_or(node.address(), |proxy| proxy.address());
        let (url, admin_url) = launch::urls(&nodes.iter().map(led_to).collect::<Vec<_>>());
        let ensemble = Self { nodes: nodes.into(), links: links.map(Arc::new), url, admin_url };
        ensemble.wait_until_whole().await;
        ensemble
    }

    fn links(&self) -> Lacking<&Links> {
        self.links.as_deref().ok_or("this ensemble was not started with proxies between its servers")
    }

    fn index_of(&self, node: &ZooKeeper) -> usize {
        let index = self.nodes.iter().position(|one| one.address() == node.address());
        index.expect("it is a server of this ensemble")
    }

    async fn modes(&self) -> Vec<Option<ZooKeeperMode>> {
        join_all(self.nodes.iter().map(ZooKeeper::mode)).await
    }

    fn only_leader(&self, modes: &[Option<ZooKeeperMode>]) -> Option<ZooKeeper> {
        let leads = |(_, mode): &(_, &Option<_>)| **mode == Some(ZooKeeperMode::Leader);
        let mut leading = self.nodes.iter().zip(modes).filter(leads).map(|(node, _)| node);
        let leader = leading.next()?;
        leading.next().is_none().then(|| leader.clone())
    }
}
