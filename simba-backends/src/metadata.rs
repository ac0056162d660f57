//! What a session says about its process.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The longest text, in characters: the width of the SQL column.
const MAX_CHARS: usize = 1024;

/// A text of at most 1,024 characters that tells people whose session this is.
///
/// Everyone who can read the storage can read it: no secrets.
///
/// ```
/// use simba_backends::Metadata;
/// let metadata: Metadata = "zone=a version=1.4.2".parse()?;
/// assert!(Metadata::try_from("x".repeat(1025)).is_err());
/// # Ok::<(), simba_backends::MetadataError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Metadata(String);

/// Says why a text cannot be metadata.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// More than 1,024 characters.
    #[error("metadata of {0} characters is too long: use at most {MAX_CHARS}")]
    TooLong(usize),
    /// A NUL character, which PostgreSQL cannot store.
    #[error("metadata contains a NUL character: remove it")]
    Nul,
}

impl Metadata {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Metadata {
    type Error = MetadataError;
    fn try_from(text: String) -> Result<Self, MetadataError> {
        let chars = text.chars().count();
        if chars > MAX_CHARS {
            return Err(MetadataError::TooLong(chars));
        }
        if text.contains('\0') {
            return Err(MetadataError::Nul);
        }
        Ok(Self(text))
    }
}

impl TryFrom<&str> for Metadata {
    type Error = MetadataError;
    fn try_from(text: &str) -> Result<Self, MetadataError> {
        Self::try_from(text.to_owned())
    }
}

impl FromStr for Metadata {
    type Err = MetadataError;
    fn from_str(text: &str) -> Result<Self, MetadataError> {
        Self::try_from(text)
    }
}

impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
