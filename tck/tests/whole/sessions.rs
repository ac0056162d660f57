//! Names for sessions that do not differ from run to run.

use simba_actors::SessionId;

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// The alias, the node that opened it, and the id that the memory backend made.
    all: Vec<(SessionId, usize, SessionId)>,
}

impl Sessions {
    pub(crate) fn add(&mut self, node: usize, real: SessionId) -> SessionId {
        let alias: SessionId = format!("n{node}s{}", self.all.len()).parse().expect("letters and digits");
        self.all.push((alias.clone(), node, real));
        alias
    }

    pub(crate) fn real(&self, alias: &SessionId) -> SessionId {
        let found = self.all.iter().rev().find(|(known, ..)| known == alias);
        found.map_or_else(|| alias.clone(), |(.., real)| real.clone())
    }

    pub(crate) fn alias(&self, real: &SessionId) -> SessionId {
        let found = self.all.iter().rev().find(|(.., known)| known == real);
        found.map_or_else(|| real.clone(), |(alias, ..)| alias.clone())
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Whether that node opened it, as that number or later.
    pub(crate) fn is_of(&self, alias: &SessionId, node: usize, first: usize) -> bool {
        self.all.iter().skip(first).any(|(known, by, _)| known == alias && *by == node)
    }

    pub(crate) fn all_real(&self) -> Vec<(SessionId, SessionId)> {
        self.all.iter().map(|(alias, _, real)| (alias.clone(), real.clone())).collect()
    }
}
