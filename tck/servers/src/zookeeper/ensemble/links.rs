//! The ways between servers.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use futures_util::future::join_all;

use super::setup::Seat;
use crate::Proxy;

/// What happens to connections between servers that are cut off from one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// They end by RST, and new ones are refused: both sides know at once.
    Reset,
    /// They stay, and nothing comes through: it takes `syncLimit` ticks, two seconds, to notice.
    Silence,
}

/// From one server to another: its two ports, through a proxy each.
#[derive(Debug)]
struct Link {
    from: usize,
    to: usize,
    proxies: [Proxy; 2],
}

/// All of them. Whoever is connected to by one with a smaller number hangs up and connects back to where that one
/// says that it is. So that this leads through a proxy too, servers know one another by names, and each has a list
/// of its own of where these are: the port is always the same, and the address is that of the proxy.
#[derive(Debug)]
pub(super) struct Links(Vec<Link>);

impl Links {
    pub(super) fn between(seats: &[Seat]) -> Self {
        let pairs = (0..seats.len()).flat_map(|from| (0..seats.len()).map(move |to| (from, to)));
        let links = pairs.filter(|(from, to)| from != to).map(|(from, to)| {
            let proxies = seats[to].peers.each_ref().map(|port| {
                let listens = SocketAddr::new(address(from, to), port.number());
                Proxy::between(listens, None, port.address())
            });
            Link { from, to, proxies }
        });
        Self(links.collect())
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
        its.flat_map(|link| &link.proxies)
    }
}

/// Where the proxy from one server to another listens.
pub(super) fn address(from: usize, to: usize) -> IpAddr {
    let number = |index| u8::try_from(index + 1).expect("they are three");
    Ipv4Addr::new(127, 1, number(from), number(to)).into()
}
