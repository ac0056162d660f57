//! A loopback port that no other test has.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr, TcpListener},
};

use crate::kit;

/// Below the ports that the kernel gives to clients: one of those could take the port of a server that is
/// down, or meet itself on it.
const PORTS: std::ops::Range<u32> = 20_000..32_000;

/// Ours until it is dropped, also while nobody listens on it.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    _locked: File,
}

impl Port {
    /// # Panics
    /// If all are taken.
    pub(crate) fn new() -> Self {
        let locks = kit::base().join("ports");
        fs::create_dir_all(&locks).unwrap_or_else(|error| panic!("{}: {error}", locks.display()));
        let count = PORTS.end - PORTS.start;
        // Processes begin at different ones, to find a free one soon.
        let first = std::process::id().wrapping_mul(37);
        for step in 0..count {
            let number = PORTS.start + first.wrapping_add(step) % count;
            let number = u16::try_from(number).expect("ports are that small");
            let Ok(file) = File::create(locks.join(number.to_string())) else { continue };
            if file.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Self { number, _locked: file };
            }
        }
        panic!("no free port in {PORTS:?} (locks are in {})", locks.display());
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}
