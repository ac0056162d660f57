//! How a server is started when not as usual.

/// Settings of a server, in its own words.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) durability: Durability,
}

/// What a commit survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The end of the server's process.
    #[default]
    Process,
    /// The end of the machine.
    Machine,
}

impl Options {
    /// As usual.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one setting more, say `default_transaction_isolation`, `serializable`.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Makes each commit wait for the disk, as in production: for what measures.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durability = Durability::Machine;
        self
    }
}
