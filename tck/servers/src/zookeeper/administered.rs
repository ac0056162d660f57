//! What a server tells of itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{
    ZooKeeper, ZooKeeperMode,
    word::{BOUND, say},
};
use crate::external;

/// What tests ask a server about itself. One that runs already has sessions of others too, and may not know all
/// words.
impl ZooKeeper {
    /// Says a word, and returns the answer: `srvr`, `mntr`, `cons`, `wchs`, `wchp`, `dump`, `srst`, `isro` and
    /// others. Around the proxy, if it has one.
    ///
    /// # Errors
    /// That nobody is there, or that there was no answer within a minute.
    ///
    /// # Cancel safety
    /// Words change nothing, but for `srst` and `crst`, which may or may not have.
    pub async fn four_letter_word(&self, word: &str) -> io::Result<String> {
        // The administrator's way is never one of TLS.
        say(external::address_of(self.admin_url()), word, BOUND).await
    }

    /// What it is now; none while it does not serve clients, or does not answer at once.
    ///
    /// # Cancel safety
    /// It changes nothing, like all that is asked here.
    pub async fn mode(&self) -> Option<ZooKeeperMode> {
        ZooKeeperMode::of(external::address_of(self.admin_url())).await
    }

    /// Sessions that have not expired, as far as it knows: of all servers, if it is one of several.
    ///
    /// # Panics
    /// If it is not there or serves nobody, like all that is asked here.
    pub async fn sessions(&self) -> BTreeSet<i64> {
        let dump = self.told("dump").await;
        let sessions = dump.split("ephemeral nodes dump:").next().unwrap_or_default();
        sessions.lines().filter_map(|line| session(line.split_whitespace().next()?)).collect()
    }

    /// Ephemeral nodes by the session that they end with.
    ///
    /// # Panics
    /// See [`sessions`](Self::sessions).
    pub async fn ephemerals(&self) -> BTreeMap<i64, Vec<String>> {
        let dump = self.told("dump").await;
        let nodes = dump.split("ephemeral nodes dump:").nth(1).unwrap_or_default();
        let nodes = nodes.split("Connections dump:").next().unwrap_or_default();
        let mut found = BTreeMap::<i64, Vec<String>>::new();
        let mut owner = None;
        for line in nodes.lines() {
            if let Some(path) = line.strip_prefix('\t') {
                let owner = owner.expect("nodes stand below their session");
                found.entry(owner).or_default().push(path.into());
            } else {
                owner = session(line.trim_end_matches(':')).or(owner);
            }
        }
        found
    }

    /// Sessions that are connected to it, and how many messages each has sent on its connection: the first one
    /// and pings too.
    ///
    /// # Panics
    /// See [`sessions`](Self::sessions).
    pub async fn connected(&self) -> BTreeMap<i64, u64> {
        let connections = self.told("cons").await;
        let connected = connections.lines().filter_map(|line| {
            let field = |name| line.split([',', '(']).find_map(|field| field.strip_prefix(name));
            Some((session(field("sid=")?)?, field("recved=")?.parse().ok()?))
        });
        connected.collect()
    }

    /// Who is connected to it and watches what: the sessions by path.
    ///
    /// # Panics
    /// See [`sessions`](Self::sessions).
    pub async fn watches(&self) -> BTreeMap<String, BTreeSet<i64>> {
        let mut found = BTreeMap::<String, BTreeSet<i64>>::new();
        let mut path = "";
        let watches = self.told("wchp").await;
        for line in watches.lines() {
            if let Some(id) = line.strip_prefix('\t') {
                found.entry(path.into()).or_default().extend(session(id));
            } else {
                path = line;
            }
        }
        found
    }

    /// Messages that it has received since it was started, pings and words such as this one too; see
    /// [`connected`](Self::connected) for those of one session.
    ///
    /// # Panics
    /// See [`sessions`](Self::sessions).
    pub async fn received(&self) -> u64 {
        let status = self.told("srvr").await;
        let received = status.lines().find_map(|line| line.strip_prefix("Received: "));
        received.and_then(|number| number.parse().ok()).expect("a server that serves counts its messages")
    }

    /// All that it measures: `zk_znode_count`, `zk_synced_followers`, ...
    ///
    /// # Panics
    /// See [`sessions`](Self::sessions).
    pub async fn metrics(&self) -> BTreeMap<String, String> {
        let metrics = self.told("mntr").await;
        let named = metrics.lines().filter_map(|line| line.split_once('\t'));
        named.map(|(name, value)| (name.into(), value.into())).collect()
    }

    async fn told(&self, word: &str) -> String {
        let told = self.four_letter_word(word).await;
        let told = told.unwrap_or_else(|error| panic!("ZooKeeper does not answer `{word}`: {error}"));
        assert!(!told.contains("not currently serving requests"), "ZooKeeper: {told}");
        told
    }
}

/// A session's number as the server writes it.
fn session(text: &str) -> Option<i64> {
    let digits = text.trim().strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok().map(u64::cast_signed)
}
