//! The fencing token.

use std::{fmt, num::NonZeroU64};

use serde::{Deserialize, Serialize};

/// The number of a term: greater than zero, rising strictly with every new term of a name, never reset.
///
/// A resource that must survive what a lease cannot promise accepts a write only if its token is at
/// least the highest it has seen, and checks that atomically with the write (M. Kleppmann, "How to do
/// distributed locking", 2016, calls it a fencing token).
///
/// At most `i64::MAX`, because SQL storages keep it in a signed column.
///
/// ```
/// use simba_backends::Token;
/// let (older, newer) = (Token::new(7).unwrap(), Token::new(8).unwrap());
/// assert!(older < newer && Token::new(0).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Token(NonZeroU64);

impl Token {
    /// The lowest token.
    pub const MIN: Self = Self(NonZeroU64::MIN);

    /// The token of that number, or `None` where no token can have it (zero, above `i64::MAX`).
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) if number.get() <= i64::MAX as u64 => Some(Self(number)),
            _ => None,
        }
    }

    /// The number, for the column or field that the resource compares.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The number as SQL drivers take it.
    pub const fn as_i64(self) -> i64 {
        self.0.get().cast_signed()
    }
}

/// Says that a number is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no token: a token is between 1 and {max}", max = i64::MAX)]
pub struct TokenError(u64);

impl TryFrom<u64> for Token {
    type Error = TokenError;
    fn try_from(number: u64) -> Result<Self, TokenError> {
        Self::new(number).ok_or(TokenError(number))
    }
}

impl From<Token> for u64 {
    fn from(token: Token) -> Self {
        token.get()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
