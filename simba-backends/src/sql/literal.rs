//! What may stand in a statement as it is: names and ids have a safe alphabet.

use crate::{GroupName, LeaseName, SessionId};

/// A word without a quote, a backslash or a semicolon in it.
pub(crate) trait Literal {
    fn text(&self) -> &str;
}

impl Literal for LeaseName {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl Literal for GroupName {
    fn text(&self) -> &str {
        self.as_str()
    }
}

impl Literal for SessionId {
    fn text(&self) -> &str {
        self.as_str()
    }
}

pub(crate) fn literal(word: &impl Literal) -> String {
    format!("'{}'", word.text())
}
