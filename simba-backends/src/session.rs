//! The identity of a session.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// The longest id: the width of the SQL column.
const MAX_LEN: usize = 32;

/// The id of one session, made by the backend and never used again.
///
/// 1-32 characters of `[A-Za-z0-9]`. A clone is a reference count.
///
/// ```
/// use simba_backends::SessionId;
/// assert_ne!(SessionId::random(), SessionId::random());
/// assert!("not an id".parse::<SessionId>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct SessionId(Arc<str>);

/// Says that a text is no session id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no session id: an id has 1 to {MAX_LEN} characters of [A-Za-z0-9]")]
pub struct SessionIdError(String);

impl SessionId {
    /// A fresh random id of 32 hexadecimal digits, for backends whose storage makes none itself.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().simple().to_string().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = SessionIdError;
    fn from_str(text: &str) -> Result<Self, SessionIdError> {
        let fits = (1..=MAX_LEN).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
        if fits { Ok(Self(text.into())) } else { Err(SessionIdError(text.to_owned())) }
    }
}

impl TryFrom<String> for SessionId {
    type Error = SessionIdError;
    fn try_from(text: String) -> Result<Self, SessionIdError> {
        text.parse()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
