//! MySQL or MariaDB: what differs in what they understand.

use crate::{BackendError, ErrorKind, Outcome};

/// The oldest versions that know `skip locked` and `json_table`.
const OLDEST_MYSQL: Version = Version(8, 0, 11);
const OLDEST_MARIADB: Version = Version(10, 6, 0);

/// Which of the two a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    MySql,
    MariaDb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version(u32, u32, u32);

impl Flavour {
    /// What `select version()` tells; an error where it is too old.
    pub(super) fn of(place: &str, version: &str) -> Result<Self, BackendError> {
        let (flavour, oldest, number) = if version.contains("MariaDB") {
            // Replication once needed every version to begin with a 5.
            (Self::MariaDb, OLDEST_MARIADB, version.strip_prefix("5.5.5-").unwrap_or(version))
        } else {
            (Self::MySql, OLDEST_MYSQL, version)
        };
        match Version::parse(number) {
            Some(found) if found >= oldest => Ok(flavour),
            Some(_) | None => Err(BackendError::new(
                ErrorKind::Unsupported,
                Outcome::NotApplied,
                format!("{place} is version {version:?}: Simba needs MySQL 8.0.11 or MariaDB 10.6, or later"),
            )),
        }
    }

    /// The variables of a session's isolation, and of whether it may write.
    pub(super) fn transaction_settings(self) -> (&'static str, &'static str) {
        match self {
            Self::MySql => ("transaction_isolation", "transaction_read_only"),
            Self::MariaDb => ("tx_isolation", "tx_read_only"),
        }
    }

    /// Locks the rows of that table against every other use, leaving out those that somebody has locked. The
    /// other tables of the statement must be none that can be locked.
    pub(super) fn locked(self, table: &str) -> String {
        match self {
            Self::MySql => format!("for update of {table} skip locked"),
            Self::MariaDb => "for update skip locked".to_owned(),
        }
    }

    /// Locks rows against changes, leaving out those that somebody has locked against that.
    pub(super) fn shared(self, table: &str) -> String {
        match self {
            Self::MySql => format!("for share of {table} skip locked"),
            Self::MariaDb => "lock in share mode skip locked".to_owned(),
        }
    }
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(['.', '-', '+']).map(|part| part.parse().ok());
        Some(Self(numbers.next()??, numbers.next()??, numbers.next().flatten().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_tells_which_of_the_two_it_is_and_whether_it_is_too_old() {
        for (version, flavour) in [
            ("8.0.11", Some(Flavour::MySql)),
            ("8.0.36-28", Some(Flavour::MySql)),
            ("9.7.4-2", Some(Flavour::MySql)),
            ("5.7.44-log", None),
            ("8.0.4-rc", None),
            ("5.7.25-TiDB-v7.1.0", None),
            ("10.11.19-MariaDB-0+deb12u1", Some(Flavour::MariaDb)),
            ("5.5.5-10.6.1-MariaDB", Some(Flavour::MariaDb)),
            ("11.4.2-MariaDB-log", Some(Flavour::MariaDb)),
            ("10.5.23-MariaDB", None),
            ("5.5.68-MariaDB", None),
            ("", None),
        ] {
            assert_eq!(Flavour::of("db:3306", version).ok(), flavour, "{version}");
        }
    }
}
