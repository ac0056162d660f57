//! The ways between servers.

use std::net::SocketAddr;

use futures_util::future::join_all;

use super::setup::Peer;
use crate::Proxy;

/// What happens to connections between servers that are cut off from one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// They end by RST, and new ones are refused: both sides know at once.
    Reset,
    /// They stay, and nothing comes through: it takes `syncLimit` ticks, two seconds, to notice.
    Silence,
}

/// The ways of one server to another.
#[derive(Debug)]
struct Link {
    from: usize,
    to: usize,
    /// By which it follows the other one.
    following: Proxy,
    /// By which they vote.
    voting: Proxy,
}

/// Those of each to each.
#[derive(Debug)]
pub(super) struct Links(Vec<Link>);

impl Links {
    /// Whoever is connected to, to vote, by one with a smaller number hangs up and connects back to where that one
    /// says that it is: they are made to say what leads through a proxy.
    pub(super) fn between(peers: &[Peer]) -> Self {
        let mut links = Vec::new();
        for from in 0..peers.len() {
            for to in (0..peers.len()).filter(|to| *to != from) {
                let following = Proxy::patiently_before(peers[to].following.address());
                let voting = Proxy::patiently_before(peers[to].voting.address());
                links.push(Link { from, to, following, voting });
            }
        }
        let links = Self(links);
        for link in &links.0 {
            let back = links.link(link.to, link.from).voting.address();
            link.voting.set_alias(peers[link.from].voting.address(), back);
        }
        links
    }

    /// Where one finds another one: to follow it, and to vote.
    pub(super) fn addresses(&self, from: usize, to: usize) -> [SocketAddr; 2] {
        let link = self.link(from, to);
        [link.following.address(), link.voting.address()]
    }

    pub(super) async fn cut(&self, server: usize, cut: Cut) {
        join_all(self.of(server).map(async |proxy| match cut {
            Cut::Reset => proxy.refuse().await,
            Cut::Silence => proxy.black_hole().await,
        }))
        .await;
    }

    pub(super) async fn heal(&self, server: usize) {
        join_all(self.of(server).map(Proxy::heal)).await;
    }

    /// Those from and to it.
    fn of(&self, server: usize) -> impl Iterator<Item = &Proxy> {
        let its = self.0.iter().filter(move |link| link.from == server || link.to == server);
        its.flat_map(|link| [&link.following, &link.voting])
    }

    fn link(&self, from: usize, to: usize) -> &Link {
        let found = self.0.iter().find(|link| link.from == from && link.to == to);
        found.expect("there is one of each server to each other one")
    }
}
