//! Names of leases and groups: parsed once, then trusted by every storage.

use std::{convert::Infallible, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// The longest name, in characters (= bytes: names are ASCII).
const MAX_LEN: usize = 128;

/// Says why a text is no name and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty.
    #[error("a name cannot be empty: use 1 to {MAX_LEN} characters of [A-Za-z0-9._:-]")]
    Empty,
    /// The text is longer than 128 characters.
    #[error("a name of {0} characters is too long: use at most {MAX_LEN} of [A-Za-z0-9._:-]")]
    TooLong(usize),
    /// A character that not every storage keeps apart from others.
    #[error("{found:?} at position {at} cannot be in a name: use only [A-Za-z0-9._:-]")]
    Character {
        /// The first character that does not fit.
        found: char,
        /// Its position, counted in characters from 0.
        at: usize,
    },
    /// `.` and `..` are paths to a storage that has paths.
    #[error("{0:?} cannot be a name: \".\" and \"..\" are reserved by storages with paths")]
    Reserved(String),
}

impl From<Infallible> for NameError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

fn check(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty);
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    if let Some((at, found)) = text.chars().enumerate().find(|(_, c)| !fits(*c)) {
        return Err(NameError::Character { found, at });
    }
    if text.len() > MAX_LEN {
        return Err(NameError::TooLong(text.len()));
    }
    if text == "." || text == ".." {
        return Err(NameError::Reserved(text.to_owned()));
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $type(Arc<str>);

        impl $type {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $type {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                check(text).map(|()| Self(text.into()))
            }
        }

        impl TryFrom<&str> for $type {
            type Error = NameError;
            fn try_from(text: &str) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl TryFrom<String> for $type {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl TryFrom<&String> for $type {
            type Error = NameError;
            fn try_from(text: &String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<&$type> for $type {
            fn from(name: &$type) -> Self {
                name.clone()
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

name! {
    /// The name of a lease: 1-128 characters of `[A-Za-z0-9._:-]`, not `.` or `..`, case-sensitive.
    ///
    /// A clone is a reference count.
    ///
    /// ```
    /// use simba_backends::LeaseName;
    /// let name: LeaseName = "invoice-42".parse()?;
    /// assert!("two words".parse::<LeaseName>().is_err());
    /// # Ok::<(), simba_backends::NameError>(())
    /// ```
    LeaseName
}

name! {
    /// The name of a partition group; the rules are those of [`LeaseName`].
    GroupName
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_safe_alphabet_parse_to_the_last_character() {
        for good in ["a", "Job", "a.b:c_d-e", "...", &"x".repeat(128)] {
            assert_eq!(good.parse::<LeaseName>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn what_some_storage_would_confuse_is_refused_with_the_remedy() {
        let long = "x".repeat(129);
        for bad in ["", " ", "a b", "a/b", "ä", "a\u{0}", ".", "..", "a\n", &long] {
            let error = bad.parse::<LeaseName>().unwrap_err().to_string();
            assert!(error.contains("use ") || error.contains("reserved"), "{bad:?}: {error}");
        }
    }
}
